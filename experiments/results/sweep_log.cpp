#include "experiments/results/sweep_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/results/run_report.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// FNV-1a, 64 bits.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

[[noreturn]] void fail(const fs::path& file, const char* action) {
  throw Error(fmt::format("{}: cannot be {}: {}", file.string(), action, std::strerror(errno)));
}

}  // namespace

std::string config_hash(const Experiment& experiment) {
  std::string text = experiment.resolved.dump();
  if (experiment.cluster) {
    const auto add = [&](const ShippedFiles& files, const std::string& name) {
      if (const auto file = files.look_up(name)) text += text_of(*file);
    };
    add(kClusterFiles, experiment.resolved["cluster"]["file"]);
    const auto device = static_cast<std::size_t>(experiment.devices.front());
    const std::string& own = experiment.simulation.profile;
    add(kDeviceFiles, own.empty() ? experiment.cluster->devices[device].profile : own);
  }
  return fmt::format("{:016x}", hash_of(text));
}

SweepLog::SweepLog(fs::path file) : file_(std::move(file)) {
  if (!fs::exists(file_)) return;
  const std::string text = text_of(file_);
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const JsonReader line(std::string_view(text).substr(begin, end - begin), file_.string(),
                          fmt::format("line {}", number));
    line.get<std::string>("label");
    require_result(line, "result/");
    if (line.has("result/simulated_on"))
      line.fail("result/simulated_on", "expected none, as forecasts are made when all has run");
    lines_[line.get<std::string>("config_hash")] = line.json();
    begin = end + 1;
  }
  if (begin < text.size()) fs::resize_file(file_, begin);
}

const Json* SweepLog::find(const Experiment& experiment) const {
  const auto found = lines_.find(config_hash(experiment));
  return found == lines_.end() ? nullptr : &found->second;
}

void SweepLog::append(const Experiment& experiment, const Json& what) {
  const std::string hash = config_hash(experiment);
  Json line{{"label", experiment.label}, {"config_hash", hash}};
  line.update(what);
  const std::string text = line.dump() + "\n";
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(file_, "opened");
  const off_t before = ::lseek(descriptor, 0, SEEK_END);
  const bool whole =
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool kept = whole && (::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS);
  const int why = errno;
  if (!whole && ::ftruncate(descriptor, before) != 0) errno = why;  // the next start cuts it off
  ::close(descriptor);
  errno = why;
  if (!kept) fail(file_, "written");
  lines_[hash] = std::move(line);
}

}  // namespace orrery
