// Progress of trainings and sweeps on standard error.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/terminal/activity.hpp"

namespace orrery {

/// A training: a bar on a terminal; elsewhere a line every tenth (and, if that takes long, as for
/// every activity).
class ProgressBar {
 public:
  /// `before`: of the total epochs, those that a resumed training has behind it. `enabled` false: only
  /// says that it trains, if activities are shown.
  ProgressBar(std::string label, int before, int total, bool enabled);
  /// `done` of the total epochs are done.
  void update(int done, std::optional<double> loss, std::optional<double> validation_accuracy);

 private:
  std::string label_;
  int before_, total_;
  bool enabled_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Activity activity_;
};

/// A line on standard error for every finished combination of a sweep, with the number that is
/// left.
class SweepProgress {
 public:
  /// `done`: for each combination, whether an earlier start has done it. `enabled` false: silent.
  SweepProgress(const std::vector<bool>& done, bool enabled);
  void finished(const std::string& label);

 private:
  std::size_t total_, before_, now_ = 0;
  bool enabled_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace orrery
