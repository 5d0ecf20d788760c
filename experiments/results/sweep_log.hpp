// The log of a sweep: a line for every combination that is done.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/config/experiment.hpp"

namespace orrery {

/// What a combination's result depends on, in 16 hexadecimal digits: its resolved file and the
/// text of its cluster file and device profile. (Not data sets, which are large, nor the program.)
std::string config_hash(const Experiment& experiment);

/// A file of JSON lines {"label", "config_hash", ...}. A line appears whole or not at all, so that
/// a sweep which was killed at any moment goes on after the last finished combination.
///
/// Requires  that nobody else writes the file (its folder is locked)
class SweepLog {
 public:
  /// Reads what is there and cuts off a last line that was not finished.
  /// Errors    DataError naming the line that is none of ours
  explicit SweepLog(std::filesystem::path file);

  /// The line of a combination, or null.
  const nlohmann::ordered_json* find(const Experiment& experiment) const;

  /// Adds `what` to the line's label and hash and writes it in one piece, through to the disk.
  void append(const Experiment& experiment, const nlohmann::ordered_json& what);

 private:
  std::filesystem::path file_;
  std::map<std::string, nlohmann::ordered_json> lines_;  // by hash
};

}  // namespace orrery
