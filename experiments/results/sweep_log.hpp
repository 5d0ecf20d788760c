// The log of a sweep: a line for every combination that is done.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/config/experiment.hpp"

namespace orrery {

/// Files of a sweep's folder: its log, and the experiment file without the swept keys.
inline constexpr const char *kSweepLog = "results.jsonl", *kSweepBase = "base.json";

/// What a combination's result depends on, in 16 hexadecimal digits: its resolved file and the text
/// of its cluster file and device profile. (Data sets, which are large, and the program do not
/// count.)
std::string config_hash(const Experiment& experiment);

/// Refuses a folder with another sweep: one whose file differs in what is not swept (base.json), or
/// a combination of the same name with another cluster file, device profile or default. Otherwise
/// lines of both would be in one log under the same names.
///
/// Errors    ConfigError naming the key that differs; Error naming the combination, or the folder of
///           a version that did not keep base.json
void require_same_sweep(const std::filesystem::path& folder,
                        const std::vector<Experiment>& experiments);

/// A file of JSON lines {"label", "config_hash", "settings" (the swept keys with their values),
/// ...}. A line appears whole or not at all, so a sweep that was killed at any moment continues
/// after the last finished combination.
///
/// Requires  nobody else writes the file (its folder is locked)
class SweepLog {
 public:
  /// Reads the existing lines and cuts off an unfinished last one.
  /// Errors    DataError naming the invalid line
  explicit SweepLog(std::filesystem::path file);

  /// The line of a combination, or null.
  const nlohmann::ordered_json* find(const Experiment& experiment) const;

  /// Adds `what` to the line of an experiment and writes it in one piece, flushed to the disk.
  void append(const Experiment& experiment, const nlohmann::ordered_json& what);

 private:
  std::filesystem::path file_;
  std::map<std::string, nlohmann::ordered_json> lines_;  // by hash
};

}  // namespace orrery
