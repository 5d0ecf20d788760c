#include "experiments/results/results.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "experiments/config/version.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const char* action) {
  throw Error(fmt::format("{}: cannot be {}: {}", file.string(), action, std::strerror(errno)));
}

void write_all(int descriptor, const std::string& text, const fs::path& file) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(descriptor, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int why = errno;
      ::close(descriptor);
      errno = why;
      fail(file, "written");
    }
    done += static_cast<std::size_t>(n);
  }
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

/// Of the sources that this program was built from; the launcher rebuilds when they change.
std::string revision() {
  const auto git =
      run_program({"git", "-C", kSourceRoot, "describe", "--always", "--dirty"}, "/dev/null");
  if (!git || !git->succeeded() || git->output.empty()) return "unknown";
  return git->output.substr(0, git->output.find('\n'));
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

/// A number that tells texts apart (FNV-1a).
std::uint32_t fingerprint(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string utc(const char* format) {
  return fmt::format(fmt::runtime(std::string("{:") + format + "}"),
                     fmt::gmtime(std::time(nullptr)));
}

/// Where runs keep others out while they write. It stays: it says that the folder is one of results.
constexpr const char* kLock = ".lock";

/// Refuses a folder in which a start would destroy what it cannot make again.
void require_replaceable(const fs::path& folder, Existing existing) {
  const auto holds = [&](const char* name) { return fs::exists(folder / name); };
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("{}: {}", folder.string(), why));
  };
  if (!fs::is_empty(folder) && !holds(kLock))
    refuse(fmt::format("holds files that no run wrote ({}); give another --out",
                       fs::directory_iterator(folder)->path().filename().string()));
  const bool result = holds("result.json") || holds("sweep.json"), left = holds("checkpoint.bin");
  if (existing == Existing::refuse && result)
    refuse("already holds a result; give another --out or add --force");
  if (existing == Existing::refuse && left)
    refuse(
        "holds the checkpoint of a run that did not end; add --resume to go on with it, or "
        "--force to start anew");
  if (existing == Existing::resume && result && !left)
    refuse(
        "holds a result and no checkpoint to go on from; add --force instead of --resume to "
        "start anew");
}

}  // namespace

void write_file(const fs::path& file, const std::string& text) {
  const fs::path temporary = file.string() + ".part";
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(temporary, "opened");
  try {
    write_all(descriptor, text, file);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  const bool flushed = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  if (::close(descriptor) != 0 || !flushed || ::rename(temporary.c_str(), file.c_str()) != 0) {
    const int why = errno;
    ::unlink(temporary.c_str());
    errno = why;
    fail(file, "written");
  }
}

ResultFolder::ResultFolder(fs::path folder, Existing existing) : path_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw Error(fmt::format("{}: cannot be created: {}", path_.string(), error.message()));
  require_replaceable(path_, existing);
  const fs::path lock = path_ / kLock;
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) fail(lock, "opened");
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    ::close(lock_);
    errno = why;
    if (why != EWOULDBLOCK) fail(lock, "locked, which keeps other runs out (give another --out)");
    throw Error(
        fmt::format("{}: another run is writing there; give another --out", path_.string()));
  }
  // Nobody else writes here now: what write_file() has not finished is of a killed run.
  for (const char* name : {"result.json", "sweep.json", "timeline.json", "failure.json",
                           "config.json", "epochs.jsonl", "checkpoint.bin"})
    fs::remove(path_ / (std::string(name) + ".part"), error);
  // What an earlier start left would tell of another run.
  for (const char* name : {"result.json", "sweep.json", "timeline.json", "failure.json"})
    fs::remove(path_ / name, error);
  if (existing == Existing::resume && fs::exists(checkpoint())) return;
  for (const char* name : {"epochs.jsonl", "config.json", "checkpoint.bin"})
    fs::remove(path_ / name, error);
}

ResultFolder::~ResultFolder() {
  ::close(lock_);  // the file stays: removed, it could be locked by two
}

void ResultFolder::append_line(const std::string& name, const nlohmann::ordered_json& line) const {
  const fs::path file = path_ / name;
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(file, "opened");
  const off_t before = ::lseek(descriptor, 0, SEEK_END);
  try {
    write_all(descriptor, line.dump() + "\n", file);
  } catch (...) {
    std::error_code ignored;  // a full disk: take back the half line
    fs::resize_file(file, static_cast<std::uintmax_t>(before), ignored);
    throw;
  }
  if (::close(descriptor) != 0) fail(file, "written");
}

fs::path default_result_folder(const std::string& name) {
  const std::string base = fmt::format("results/{}-{}", as_file_name(name), utc("%Y%m%d-%H%M%S"));
  fs::path folder = base;
  for (int i = 2; fs::exists(folder); ++i) folder = fmt::format("{}-{}", base, i);
  return folder;
}

std::string as_file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr(".-_=", c) != nullptr;
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  const bool names_something =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  if (!names_something) name = fmt::format("unnamed-{:08x}", fingerprint(text));
  return name.substr(0, 150);
}

nlohmann::ordered_json provenance() {
  return {{"version", kVersion},
          {"revision", revision()},
          {"compiler", kCompiler},
          {"host", host_name()},
          {"cpu", cpu_model()},
          {"cores", available_cores()},
          {"date", utc("%Y-%m-%dT%H:%M:%SZ")}};
}

}  // namespace orrery
