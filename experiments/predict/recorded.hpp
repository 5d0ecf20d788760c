// The programs that an experiment's ranks would run, recorded and checked.
#pragma once

#include <memory>
#include <vector>

#include "core/cluster/placement.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// By rank; ranks of equal structure may share one.
using Programs = std::vector<std::shared_ptr<const Program>>;

/// The checked programs of all ranks for the first epochs (epochs_to_record); of
/// statistics, ranks of equal structure share theirs.   Errors    ProgramError; OutOfMemory
Programs record_checked(const Strategy& plan, const Problem& problem,
                        const Capacities& capacities = {});

/// What each rank's program amounts to, in so many epochs.
std::vector<Summary> summaries(const Programs& programs, const Strategy& plan,
                               const Placement& placement, int epochs);

}  // namespace orrery
