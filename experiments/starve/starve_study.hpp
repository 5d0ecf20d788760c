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
  /// the index of the first in each list that is as good as its best, to a fiftieth of the epoch.
  std::vector<Fed> capacities, caches;
  std::size_t enough_capacity = 0, enough_cache = 0;
  std::string not_replayed;  ///< why there are none; empty if there are
};

/// Trains on threads for `epochs` epochs, or simulates them, without evaluations. If `tries`, it
/// also replays other settings: on the experiment's cluster or, if it ran here, on this machine if
/// that has been calibrated.
///
/// Errors    ConfigError: no mini_batch, a backend that is neither threads nor sim, fewer epochs than
///           two; what preparing, running and simulating throw
StarveStudy study_starving(const Experiment& experiment, int epochs, bool tries,
                           DatasetCache& datasets, Simulator& simulator);

/// The index of the first that is as good as the best, to a fiftieth of its epoch.
///
/// Requires  `tried` is not empty
std::size_t first_enough(const std::vector<Fed>& tried);

}  // namespace orrery
