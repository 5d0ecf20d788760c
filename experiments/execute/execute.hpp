// Runs a body for real: one rank of it on any communicator, or all ranks as threads of this process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/runtime/body.hpp"
#include "core/runtime/execute/executor.hpp"
#include "core/runtime/summary.hpp"
#include "experiments/execute/execute_options.hpp"

namespace orrery {

/// What one rank leaves behind.
struct RankOutcome {
  std::vector<EpochCost> epochs;
  Timeline timeline;                        ///< of options.timeline_epochs
  Summary summary;                          ///< see summary_of()
  Program program;                          ///< steps only with keep_steps; peaks always
  std::vector<std::int64_t> received_from;  ///< bytes that came in, by the rank they are from
  /// From the start of execute_rank() to that of the first epoch: structure, features, weights.
  double seconds_to_first_epoch = 0;
  std::int64_t final_bytes = 0;  ///< tensors and patterns held at the end, counted by the allocator
  std::int64_t peak_bytes = 0;   ///< largest number of bytes held, counted by the allocator
  std::int64_t pinned_peak_bytes = 0;            ///< the same of pinned host memory
  std::int64_t loads = 0;                        ///< sum of its EpochReport::loads
  std::int64_t foreign_rows = 0, kept_rows = 0;  ///< sums of its EpochReport::rows
};

struct Outcome {
  std::string kernels;  ///< what computed on rank 0, with its libraries
  std::vector<EpochReport> epochs;
  std::vector<RankOutcome> ranks;
  bool interrupted = false;
};

/// Called on rank 0 after every epoch with the report and the seconds of that epoch on rank 0.
using Progress = std::function<void(const EpochReport&, double epoch_seconds)>;

/// How one rank's run is steered and watched.
struct RankHooks {
  std::function<bool(int epoch)> stop_after;  ///< asked after every epoch; all ranks alike
  std::function<void(const EpochReport&, double epoch_seconds)> epoch_done;
};

/// Runs one rank whose program has been checked on a device, with so many threads for loops on the
/// host; everything but the result's `summary`.
///
/// Errors    OutOfMemory, Aborted, whatever a lane throws
RankOutcome execute_rank(const Body& body, const ExecuteOptions& options, int rank,
                         int kernel_threads, RankDevice& device, Communicator& communicator,
                         const RankHooks& hooks);

/// What a rank's tensors need on the host, by its recorded program: the sum of the peaks of its
/// spaces, with those of the device where that is the host.
std::int64_t host_bytes(const Program& recorded, const ExecuteOptions& options);

/// Of a rank's recorded program; where values decided what it did, of what it did, all epochs.
Summary summary_of(const RankOutcome& done, const Program& recorded, const Body& body,
                   const Placement& placement);

/// Records the first epochs of all ranks (epochs_to_record), checks them, and runs. Cores are shared fairly: each rank's
/// kernels use cores / ranks threads.
///
/// Errors    ProgramError (the check), OutOfMemory (named tensor), ConfigError (unknown kernels),
///           whatever a rank throws first
Outcome execute_on_threads(const Body& body, const ExecuteOptions& options,
                           const Progress& progress);

}  // namespace orrery
