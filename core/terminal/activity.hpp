// The present work of the program: a line that is redrawn on a terminal, or a line every ten
// seconds elsewhere.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// From now on activities are shown on standard error, or no longer. Before the first call they are
/// not shown. `pause`: if nothing is redrawn on a terminal, a line is printed after this time
/// without one.
void tell_activities(bool told, std::chrono::milliseconds pause = std::chrono::seconds(10));

/// Something that takes time. A separate thread shows it from its beginning to its end, so the work
/// itself need not. Activities nest: the innermost is shown. Those of several threads at once are
/// shown one at a time.
class Activity {
 public:
  /// `what`: "cutting into 8 parts"; the elapsed time is added.
  explicit Activity(std::string what);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Shows something else from now on; may be called often. `forms`: the same with fewer and fewer
  /// words. The first that fits into the terminal is drawn; elsewhere the first is printed.
  /// `timed`: whether the elapsed time is still added.
  void update(std::vector<std::string> forms, bool timed = true);

 private:
  int number_;  ///< 0: not shown
};

/// Writes the last words of this process to standard error. Nothing is shown after them: whoever
/// tries waits for the end of the process.
void tell_last(std::string_view text);

}  // namespace orrery
