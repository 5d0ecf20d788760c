// Runs a body for real; this process is one rank of an MPI job.
#pragma once

#include "backends/comm_mpi/comm_mpi.hpp"
#include "experiments/execute/execute.hpp"

namespace orrery {

/// Records the first epochs of this rank, checks them, compares its collectives with those of the
/// others, and runs. At rank 0 the outcome of all ranks; elsewhere only this rank's part.
///
/// Requires  as many ranks in the body as in the world; the same arguments everywhere, but
///           `progress` and `options.keep` matter on rank 0 alone
/// Errors    as execute_on_threads, on the rank where it happened
Outcome execute_on_mpi(MpiWorld& world, Communicator& communicator, const Body& body,
                       const ExecuteOptions& options, const Progress& progress);

}  // namespace orrery
