// Progress of a run on standard error: a bar on a terminal, a line every tenth elsewhere.
#pragma once

#include <chrono>
#include <optional>
#include <string>

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

}  // namespace orrery
