// The library's own collectives, to measure ours against.
#pragma once

#include <cstdint>

namespace orrery::mpi {

/// MPI_Allreduce in place, a sum over all ranks.
void plain_all_reduce(float* x, std::int64_t n);
/// MPI_Bcast from rank 0.
void plain_broadcast(float* x, std::int64_t n);
void plain_barrier();

}  // namespace orrery::mpi
