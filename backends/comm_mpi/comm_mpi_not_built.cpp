#include <cstdlib>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "core/base/error.hpp"

namespace orrery {

struct MpiWorld::Parts {};

bool MpiWorld::built() { return false; }

MpiWorld::MpiWorld(MpiOptions) {
  throw NotBuilt(
      "this program was built without MPI; install libopenmpi-dev and openmpi-bin, build again and "
      "start orrery-mpi with mpirun, or use the ranks of one process");
}
MpiWorld::~MpiWorld() = default;

// Unreachable: there is no world to call.
int MpiWorld::rank() const { return 0; }
int MpiWorld::size() const { return 1; }
Placement MpiWorld::placement() const { return {}; }
void MpiWorld::share(std::string&, int) {}
std::vector<std::string> MpiWorld::gather(const std::string&) { return {}; }
std::vector<std::string> MpiWorld::all_gather(const std::string&) { return {}; }
bool MpiWorld::any(bool mine) { return mine; }
void MpiWorld::expect_end() {}
void MpiWorld::run(const std::function<void(Communicator&)>&) {}
void MpiWorld::fail(std::string_view, int) { std::abort(); }

}  // namespace orrery
