// How far the prices of a device profile are off.
#pragma once

#include <map>
#include <set>
#include <string>

namespace orrery::sim {

/// Mean relative errors of prices at what was left out when they were fitted. An interval of a
/// simulated time is made of them. Nothing and 0: not known.
struct PriceErrors {
  double operations = 0;                        ///< of all operations of a training as one
  std::map<std::string, double> by_kind;        ///< of those of a kind ("spmm"), beside that
  std::map<std::string, double> communication;  ///< of collectives, by library
  /// Libraries whose error was measured inside a machine, while the cores that compute also move what
  /// goes between servers (Library::core_seconds_per_byte): that is off as operations are.
  std::set<std::string> moved_by_cores = {};
  bool measured = false;  ///< by a calibration; if not, somebody assumes them
  bool known() const { return operations > 0 || !by_kind.empty() || !communication.empty(); }
  bool operator==(const PriceErrors&) const = default;
};

}  // namespace orrery::sim
