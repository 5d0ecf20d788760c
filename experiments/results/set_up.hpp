// What a real run does once, before its first epoch: seconds that no epoch has.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace orrery {

/// Seconds by the clock; of work that ranks do side by side, those of the rank that takes longest.
struct SetUp {
  double partition_seconds = 0;  ///< the graph is cut into parts
  /// What ranks train on is cut out of the graph: subgraphs of servers, halos, tiles. Also the
  /// search for numbers where the file says "fit". What is drawn for each epoch is not in it.
  double structure_seconds = 0;
  /// Structures, features and weights go to the devices.
  double device_seconds = 0;

  double seconds() const { return partition_seconds + structure_seconds + device_seconds; }
};

/// The object "set_up" of a result: these seconds, and their sum.
nlohmann::ordered_json set_up_json(const SetUp& set_up);

/// One of these objects as a readable line, with its parts; of several only the range of their sums.
///
/// Requires  at least one
std::string set_up_line(std::span<const nlohmann::ordered_json> of_runs);

}  // namespace orrery
