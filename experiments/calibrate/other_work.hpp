// How much of the processors other programs take during a measurement.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace orrery::calibrate {

/// The observed work of other programs.
struct OtherWork {
  double load_before = 0;       ///< load average of the last minute, as far as others caused it
  std::optional<double> cores;  ///< kept busy by others since; empty if unknown
  int of_cores = 0;             ///< those that were looked at
  bool of_several = false;      ///< machines; this one is the busiest of them

  /// Whether this made the measured times longer.
  bool disturbs() const;
  /// "this machine was at work while it was measured: ..."; `what` was measured.
  std::string words(const std::string& what) const;
};

/// {"load_before", "cores", "note"}, in the form of a result: null if there is nothing to report.
nlohmann::ordered_json other_work_json(const OtherWork& work);

/// A process's reading of the processors that it may use, and of itself.
struct WorkReading {
  std::string machine;     ///< the same for all that share its processors
  double load = 0;         ///< average of the last minute, at the beginning
  double running = 1;      ///< processes ready to run then, with this one
  double seconds = 0;      ///< from the beginning on
  double own_seconds = 0;  ///< of processors, that this process took since
  /// Seconds that each processor was busy since; none if the system does not say, or after too
  /// little time.
  std::map<int, double> busy_seconds;
};
std::string to_text(const WorkReading& reading);
WorkReading reading_from_text(const std::string& text);

/// The work of other programs, on the machine with most of it, from the readings of a job's
/// processes: processes of one machine share their readings, and their own work does not count.
/// Requires  a reading
OtherWork work_of_others(const std::vector<WorkReading>& job);

/// Watches the processors that this process may use, from its construction on.
class WorkWatch {
 public:
  WorkWatch();
  /// Programs that this one started count as its own work after they end.
  WorkReading reading() const;
  /// The work of others since.
  OtherWork seen() const { return work_of_others({reading()}); }

 private:
  WorkReading begin_;
  std::chrono::steady_clock::time_point since_;
};

/// The work of others during a second.
OtherWork look_for_a_second();

/// Returns as soon as others leave the processors alone; says first that it waits. `look` takes its
/// time, at most `looks` times.
///
/// Errors    Error: they never did
void wait_for_quiet(int looks, const std::function<OtherWork()>& look = look_for_a_second);

}  // namespace orrery::calibrate
