// What the program is doing, for whoever waits: a line that is drawn over on a terminal, a line
// every ten seconds elsewhere.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// From here on activities are told on standard error, or no longer. Before the first call they are
/// not. `pause`: where they are not drawn on a terminal, a line is printed after so long without one.
void tell_activities(bool told, std::chrono::milliseconds pause = std::chrono::seconds(10));

/// Something that takes time, told from its beginning to its end by a thread of its own, so that
/// whatever takes the time need not think of it. Phases nest: the innermost is told. Those of several
/// threads at once are told one at a time.
class Activity {
 public:
  /// `what`: "cutting into 8 parts"; how long it has taken is added.
  explicit Activity(std::string what);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Tells something else from now on; may be called often. `forms`: the same in fewer and fewer
  /// words, of which the first that fits into the terminal is drawn; elsewhere the first is printed.
  /// `timed`: whether how long it has taken is still added.
  void update(std::vector<std::string> forms, bool timed = true);

 private:
  int number_;  ///< 0: not told
};

/// Writes the last words of this process to standard error. Nothing is told after them: whoever
/// tries waits for the end of the process.
void tell_last(std::string_view text);

}  // namespace orrery
