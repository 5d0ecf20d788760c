// Runs a body for real: one rank of it on any communicator, or all ranks as threads of this
// process.
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

/// The result of one rank.
struct RankOutcome {
  std::vector<EpochCost> epochs;
  Timeline timeline;                        ///< of options.timeline_epochs
  Summary summary;                          ///< see summary_of()
  Program program;                          ///< steps only with keep_steps; peaks always
  std::vector<std::int64_t> received_from;  ///< received bytes, by the sending rank
  /// From the start of execute_rank() to that of the first epoch: structure, features, weights.
  double seconds_to_first_epoch = 0;
  std::int64_t final_bytes = 0;  ///< tensors and patterns held at the end, counted by the allocator
  std::int64_t peak_bytes = 0;   ///< largest number of bytes held, counted by the allocator
  std::int64_t pinned_peak_bytes = 0;            ///< the same for pinned host memory
  std::int64_t loads = 0;                        ///< sum of its EpochReport::loads
  std::int64_t foreign_rows = 0, kept_rows = 0;  ///< sums of its EpochReport::rows
};

struct Outcome {
  std::string kernels;  ///< kernels of rank 0, with their libraries
  std::vector<EpochReport> epochs;
  std::vector<RankOutcome> ranks;
  bool interrupted = false;
};

/// Called on rank 0 after every epoch with the report and the seconds of that epoch on rank 0.
using Progress = std::function<void(const EpochReport&, double epoch_seconds)>;

/// How one rank's run is controlled and watched.
struct RankHooks {
  /// asked after every epoch; the same answer for all ranks
  std::function<bool(int epoch)> stop_after;
  std::function<void(const EpochReport&, double epoch_seconds)> epoch_done;
};

/// Runs one rank, whose program has been checked, on a device, with this many threads for loops on
/// the host. Fills in everything except the result's `summary`.
///
/// Errors    OutOfMemory, Aborted, whatever a lane throws
RankOutcome execute_rank(const Body& body, const ExecuteOptions& options, int rank,
                         int kernel_threads, RankDevice& device, Communicator& communicator,
                         const RankHooks& hooks);

/// Host memory of a rank's tensors, by its recorded program: the sum of the peaks of its spaces,
/// including those of the device if that is the host.
std::int64_t host_bytes(const Program& recorded, const ExecuteOptions& options);

/// Summary of the rank's recorded program. If the strategy depends on values, of the steps that it
/// really executed, over all epochs.
Summary summary_of(const RankOutcome& done, const Program& recorded, const Body& body,
                   const Placement& placement);

/// Records the first epochs of all ranks (epochs_to_record), checks them, and runs. Cores are
/// shared fairly: each rank's kernels use cores / ranks threads.
///
/// Errors    ProgramError (the check), OutOfMemory (named tensor), ConfigError (unknown kernels),
///           whatever a rank throws first
Outcome execute_on_threads(const Body& body, const ExecuteOptions& options,
                           const Progress& progress);

}  // namespace orrery
