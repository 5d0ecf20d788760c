// Records a training run without running it.
#pragma once

#include <vector>

#include "core/runtime/recording.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// The programs of all ranks, set-up to tear-down, of a training run of `epochs` epochs (each
/// evaluated as the problem says).
///
/// Errors    OutOfMemory as in the real run
std::vector<Program> record_training(const Strategy& strategy, const Problem& problem, int epochs,
                                     const Capacities& capacities);

}  // namespace orrery
