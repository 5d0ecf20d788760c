// What an Executor adds to the operations that it runs.
#pragma once

namespace orrery::calibrate {

/// Seconds, medians of many.
struct HostCosts {
  double issue_seconds = 0;     ///< of the host for a submit
  double lane_seconds = 0;      ///< between two operations that follow each other on a lane
  double handover_seconds = 0;  ///< from the end of an operation to the start of one that waited
                                ///< for it on another lane
  double sync_seconds = 0;      ///< from the end of an operation to the host that waited for it
};

/// Runs small operations through one Executor with so many threads for its kernels.
HostCosts measure_host(int threads, int repetitions);

}  // namespace orrery::calibrate
