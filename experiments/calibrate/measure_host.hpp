// The time that an Executor adds to its operations.
#pragma once

#include <cstdint>

#include "core/runtime/execute/rank_device.hpp"

namespace orrery::calibrate {

/// Seconds, medians of many.
struct HostCosts {
  double issue_seconds = 0;     ///< of the host for a submit
  double lane_seconds = 0;      ///< between two operations that follow each other on a lane
  double handover_seconds = 0;  ///< from the end of an operation to the start of one that waited
                                ///< for it on another lane
  double sync_seconds = 0;      ///< from the end of an operation to the host that waited for it
};

struct HostBench {
  int threads = 1;  ///< of kernels
  int repetitions = 100;
  /// Keeps a lane busy for about a millisecond: the number of fills and their bytes.
  int long_fills = 1;
  std::int64_t long_bytes = std::int64_t{16} << 20;
  /// The work ends after the lane's thread has gone on, and the host knows its clock only to a few
  /// microseconds: a GPU.
  bool asynchronous = false;
};

/// Runs small operations through one Executor on the device. Where that is asynchronous,
///   issue_seconds   is what a lane's thread takes for an operation, where that is more than the
///                   host does: none follows another faster
///   sync_seconds    is what a submit and a wait take beside all that is counted elsewhere
HostCosts measure_host(const HostBench& bench, RankDevice& device);

/// How long a thread keeps a core while another waits for it: median over two spinning threads for each of
/// the cores, in seconds; 0 if none lost its core.
double measure_turn(int cores);

}  // namespace orrery::calibrate
