// Records a training run without running it: the Programs of all ranks.
#pragma once

#include <memory>
#include <vector>

#include "core/runtime/ledger.hpp"
#include "core/runtime/program.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// By rank; ranks of equal structure may share one.
using Programs = std::vector<std::shared_ptr<const Program>>;

/// Epochs to record for checks and volumes: a whole period, and at least two, because the second
/// shows what the first set up.
int epochs_to_record(const Problem& problem);

/// The program of one rank, set-up to tear-down, of a run of `epochs` epochs (each evaluated as
/// the problem says).
///
/// Errors    OutOfMemory as the real run would throw it
Program record_rank(const Strategy& strategy, const Problem& problem, int rank, int epochs,
                    const Capacities& capacities);

/// The same of all ranks.
std::vector<Program> record_training(const Strategy& strategy, const Problem& problem, int epochs,
                                     const Capacities& capacities);

/// The same, where ranks of equal structure share one program: entry r is that of
/// strategy.representative(r), which says its own rank and, in own_group(), its own groups.
///
/// Cost      each representative is recorded once, side by side
Programs record_shared(const Strategy& strategy, const Problem& problem, int epochs,
                       const Capacities& capacities);

}  // namespace orrery
