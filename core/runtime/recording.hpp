// Records a body without running it: the Programs of its ranks.
#pragma once

#include <memory>
#include <vector>

#include "core/runtime/body.hpp"
#include "core/runtime/ledger.hpp"
#include "core/runtime/program.hpp"

namespace orrery {

/// One program for each rank; ranks of equal structure may share one.
using Programs = std::vector<std::shared_ptr<const Program>>;

/// Number of epochs to record for checks and volumes: a whole period, and at least two, because the
/// first also sets up.
int epochs_to_record(const Body& body);

/// The program of one rank, set-up to tear-down, of a run of `epochs` epochs.
///
/// Errors    OutOfMemory as in the real run
/// Cost      without steps (`keeps_steps`) a program knows its peaks and volumes alone, and takes little
///           memory
Program record_rank(const Body& body, int rank, int epochs, const Capacities& capacities,
                    bool keeps_steps = true);

/// The same for all ranks.
std::vector<Program> record_ranks(const Body& body, int epochs, const Capacities& capacities);

/// The same, but ranks of equal structure share one program: entry r is that of
/// body.representative(r). It has its own rank number and, in own_group(), its own groups.
///
/// Cost      each representative is recorded once, in parallel
Programs record_shared(const Body& body, int epochs, const Capacities& capacities,
                       bool keeps_steps = true);

}  // namespace orrery
