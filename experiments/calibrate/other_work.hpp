// How much of the processors other programs take while something is measured.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace orrery::calibrate {

/// What was seen of other programs.
struct OtherWork {
  double load_before = 0;       ///< load average of the last minute, as far as it is of others
  std::optional<double> cores;  ///< kept busy by others since; nothing where that cannot be told
  int of_cores = 0;             ///< those that were looked at
  bool of_several = false;      ///< machines, of which this is the one with most of it

  /// Whether times that were measured meanwhile are longer because of it.
  bool disturbs() const;
  /// "this machine was at work while it was measured: ..."; `what` was measured.
  std::string words(const std::string& what) const;
};

/// {"load_before", "cores", "note"}, as it stands in a result: null where nothing is to be told.
nlohmann::ordered_json other_work_json(const OtherWork& work);

/// What a process saw of the processors that it may use, and of itself.
struct WorkReading {
  std::string machine;     ///< the same for all that share its processors
  double load = 0;         ///< average of the last minute, at the beginning
  double running = 1;      ///< processes ready to run then, with this one
  double seconds = 0;      ///< from the beginning on
  double own_seconds = 0;  ///< of processors, that this process took since
  /// Seconds that each processor was not idle since; none where the system does not tell, or too
  /// little time has passed.
  std::map<int, double> busy_seconds;
};
std::string to_text(const WorkReading& reading);
WorkReading reading_from_text(const std::string& text);

/// What remains for other programs of what the processes of one job saw, on the machine where that is
/// most: processes of the same machine share what they saw, and their own work is not others'.
/// Requires  a reading
OtherWork work_of_others(const std::vector<WorkReading>& job);

/// Looks at the processors that this process may use, from its making on.
class WorkWatch {
 public:
  WorkWatch();
  /// Programs that this one started count as its own work once they have ended.
  WorkReading reading() const;
  /// What others did since.
  OtherWork seen() const { return work_of_others({reading()}); }

 private:
  WorkReading begin_;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace orrery::calibrate
