// Progress of a run on standard error: a bar on a terminal, a line every tenth elsewhere.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

class ProgressBar {
 public:
  /// `enabled` false: silent.
  ProgressBar(std::string label, int total, bool enabled);
  /// Clears the bar.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// `done` of the total epochs are done.
  void update(int done, std::optional<double> loss, std::optional<double> validation_accuracy);

 private:
  std::string label_;
  int total_;
  bool enabled_, terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), drawn_;
};

/// A line on standard error for every finished combination of a sweep, with what is left.
class SweepProgress {
 public:
  /// `done`: of each combination, whether an earlier start has done it. `enabled` false: silent.
  SweepProgress(const std::vector<bool>& done, bool enabled);
  void finished(const std::string& label);

 private:
  std::size_t total_, before_, now_ = 0;
  bool enabled_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace orrery
