// The time of an operation on a device that gets its work ahead of time, as a GPU does: its price
// among others on its lane.
#pragma once

#include <functional>
#include <vector>

#include "core/runtime/execute/rank_device.hpp"
#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {

struct LaneTiming {
  double round_seconds = 1e-3;  ///< of calls in a row, as many as fit, but at least one
  int most_calls = 100, rounds = 3;
  std::int64_t workspace_bytes = std::int64_t{3} << 29;  ///< twice
  /// Keeps the lane busy while a round is issued: the greatest number of fills, and their bytes.
  int longest_lead = 256;
  std::int64_t lead_bytes = std::int64_t{256} << 20;
};

/// Bytes of Space::device that the timing needs.
std::int64_t bytes_needed(const LaneTiming& timing);

/// Seconds of each case: the median over rounds of calls on one lane (each call on other operands)
/// of time by calls. It includes the time between two calls. A round is issued behind a lead so
/// long that its last call is there before it can begin, as the host of a training runs ahead of
/// its GPU. Some operations outlast every lead; their time is then the host's. Loads and saves, in
/// which the host works itself, are issued to an idle lane.
///
/// Errors    Error: the device has too little memory · whatever the building of a case throws
std::vector<double> time_on_lane(RankDevice& device, const std::vector<BuildOps>& cases,
                                 const LaneTiming& timing,
                                 const std::function<void(std::size_t done)>& done);

}  // namespace orrery::calibrate
