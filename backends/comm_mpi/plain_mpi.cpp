#include "backends/comm_mpi/plain_mpi.hpp"

#include "backends/comm_mpi/engine.hpp"

namespace orrery::mpi {

void plain_all_reduce(float* x, std::int64_t n) {
  const std::lock_guard lock(library_lock());
  require_success(
      MPI_Allreduce(MPI_IN_PLACE, x, static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
      "MPI_Allreduce");
}

void plain_broadcast(float* x, std::int64_t n) {
  const std::lock_guard lock(library_lock());
  require_success(MPI_Bcast(x, static_cast<int>(n), MPI_FLOAT, 0, MPI_COMM_WORLD), "MPI_Bcast");
}

void plain_barrier() {
  const std::lock_guard lock(library_lock());
  require_success(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

}  // namespace orrery::mpi
