// Whether batches come fast enough for the trainers of an experiment, and which settings would make
// them faster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/strategy/config/stages_ahead.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/simulator.hpp"
#include "experiments/run/runner.hpp"
#include "experiments/starve/stage_times.hpp"

namespace orrery {

/// Settings are enough if no others that are tried make the epoch shorter than by this factor.
inline constexpr double kAsGood = 1.02;

/// Some settings, and how well the trainers are fed with them: means over ranks, and over the
/// epochs except the first ones.
struct Fed {
  StagesAhead ahead;
  std::string cache_policy;      ///< of cache_bytes > 0
  std::int64_t cache_bytes = 0;  ///< on each rank
  StageTimes batch;              ///< of a batch
  double epoch_seconds = 0;      ///< of the slowest rank
  /// What does not fit into memory, and where; there are no times then. Empty: it fits.
  std::string does_not_fit;

  /// Share of the time in which the trainer waits for the stages before it.
  double waiting() const { return batch.seconds > 0 ? batch.waiting() / batch.seconds : 0; }
};

struct StarveStudy {
  int ranks = 1, batches = 0;  ///< batches of an epoch of a rank
  bool measured = false;       ///< else simulated
  Fed now;
  std::optional<Fed> forecast;  ///< the same as the measured one, simulated
  /// Cores of a server that the stages before training keep busy, and would keep busy if they fed
  /// trainers that never wait.
  double cores_busy = 0, cores_needed = 0;
  int cores = 0;  ///< that a server has; 0: not known
  /// Simulated with larger and larger capacities, and with larger and larger caches. `enough_` is
  /// the index of the first in each list that is as good as its best, to a fiftieth of the epoch; nothing if
  /// none fits.
  std::vector<Fed> capacities, caches;
  std::optional<std::size_t> enough_capacity, enough_cache;
  std::string not_replayed;  ///< why there are none; empty if there are
  std::string
      not_measured;  ///< why it is simulated, where the file asks for a run over MPI; else empty

  /// How many points of the time the trainer waits longer in the forecast than it was measured to.
  std::optional<double> forecast_points() const {
    if (!forecast) return std::nullopt;
    return 100 * (forecast->waiting() - now.waiting());
  }
};

/// Trains for `epochs` epochs as one rank of the job, without evaluations. The leading process has what all
/// ranks measured; what the others return means nothing.
///
/// Errors    as study_starving; what running over MPI throws
Fed measure_over_mpi(const Experiment& experiment, int epochs, DatasetCache& datasets,
                     const Job& job);

/// Trains on threads for `epochs` epochs, or simulates them, without evaluations; `measured` is what a run
/// over MPI has measured before. If `tries`, it also replays other settings: on the experiment's cluster or,
/// if it ran here, on this machine if that has been calibrated. An experiment over MPI that was not measured is
/// simulated in the same way.
///
/// Errors    ConfigError: no mini_batch, a backend that neither runs nor is simulated, fewer epochs than two,
///           nothing to simulate a run over MPI on; what preparing, running and simulating throw
StarveStudy study_starving(const Experiment& experiment, int epochs, bool tries,
                           DatasetCache& datasets, Simulator& simulator,
                           const std::optional<Fed>& measured = std::nullopt);

/// The index of the first that is as good as the best, to a fiftieth of its epoch; nothing if none fits.
std::optional<std::size_t> first_enough(const std::vector<Fed>& tried);

}  // namespace orrery
