// A library without NCCL: the entries stay null, which is what the interface says of it.
#include "backends/cuda/device/nccl.cuh"

namespace orrery::cuda {

void add_nccl(OrreryCudaApi&) {}
int nccl_version() { return 0; }

}  // namespace orrery::cuda
