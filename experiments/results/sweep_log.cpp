#include "experiments/results/sweep_log.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/differences.hpp"
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

/// Empty where there is no such file.
std::string text_of(const fs::path& file) { return fs::exists(file) ? bytes_of(file) : ""; }

/// The whole lines of a log, and the bytes up to which they go.
struct WholeLines {
  std::vector<Json> lines;
  std::size_t bytes = 0;
};

WholeLines whole_lines(const fs::path& file) {
  const std::string text = text_of(file);
  WholeLines whole;
  for (std::size_t end; (end = text.find('\n', whole.bytes)) != std::string::npos;
       whole.bytes = end + 1) {
    const JsonReader line(std::string_view(text).substr(whole.bytes, end - whole.bytes),
                          file.string(), fmt::format("line {}", whole.lines.size() + 1));
    line.get<std::string>("label");
    line.get<std::string>("config_hash");
    require_result(line, "result/");
    if (line.has("result/simulated_on"))
      line.fail("result/simulated_on", "expected none, because forecasts are made after all runs");
    whole.lines.push_back(line.json());
  }
  return whole;
}

void require_same_base(const Json& kept, const Json& now, const fs::path& folder) {
  for (const Difference& one : differences(kept, now))
    throw ConfigError(one.key,
                      fmt::format("is {} here, but {} in the sweep that {} holds; give another "
                                  "--out, or sweep the key",
                                  one.now, one.kept, folder.string()));
}

}  // namespace

void require_same_sweep(const fs::path& folder, const std::vector<Experiment>& experiments) {
  const fs::path log = folder / kSweepLog, base = folder / kSweepBase;
  if (!fs::exists(log)) return;
  const std::vector<Json> lines = whole_lines(log).lines;
  if (lines.empty()) return;
  if (!fs::exists(base))
    throw Error(
        fmt::format("{}: holds a sweep of an earlier version, which did not keep its "
                    "settings; give another --out",
                    folder.string()));
  require_same_base(JsonReader(text_of(base), base.string()).json(), experiments.front().base,
                    folder);
  std::map<std::string, std::string> hash_of_label;
  for (const Json& line : lines) hash_of_label[line["label"]] = line["config_hash"];
  for (const Experiment& e : experiments)
    if (const auto found = hash_of_label.find(e.label);
        found != hash_of_label.end() && found->second != config_hash(e))
      throw Error(
          fmt::format("{}: holds {} with another cluster file, device profile or default; "
                      "give another --out",
                      folder.string(), e.label));
}

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
  WholeLines whole = whole_lines(file_);
  for (Json& line : whole.lines) {
    const std::string hash = line["config_hash"];
    lines_[hash] = std::move(line);
  }
  if (whole.bytes < fs::file_size(file_)) fs::resize_file(file_, whole.bytes);
}

const Json* SweepLog::find(const Experiment& experiment) const {
  const auto found = lines_.find(config_hash(experiment));
  return found == lines_.end() ? nullptr : &found->second;
}

void SweepLog::append(const Experiment& experiment, const Json& what) {
  const std::string hash = config_hash(experiment);
  Json line{{"schema_version", kSchemaVersion},
            {"label", experiment.label},
            {"config_hash", hash},
            {"settings", experiment.settings}};
  line.update(what);
  append_to_file(file_, line.dump() + "\n", true);
  lines_[hash] = std::move(line);
}

}  // namespace orrery
