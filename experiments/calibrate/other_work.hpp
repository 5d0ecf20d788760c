// How much of the processors other programs take while something is measured.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace orrery::calibrate {

/// What was seen of other programs.
struct OtherWork {
  double load_before = 0;       ///< load average of the last minute, as far as it is of others
  std::optional<double> cores;  ///< kept busy by others since; nothing where that cannot be told

  /// Whether times that were measured meanwhile are longer because of it.
  bool disturbs() const;
  /// "this machine was at work while it was measured: ..."; `what` was measured.
  std::string words(const std::string& what) const;
};

/// Looks at the processors that this process may use, from its making on.
class WorkWatch {
 public:
  WorkWatch();
  /// What others did since. Programs that this one started count as its own work once they have
  /// ended.
  OtherWork seen() const;

 private:
  double load_before_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<double> busy_seconds_;  ///< of the processors, since the machine started
  double own_seconds_;                  ///< of this process and of those it has waited for
};

}  // namespace orrery::calibrate
