// The NCCL part of the table: filled in where the library was built with NCCL, else left null.
#pragma once

#include "backends/cuda/interface.h"

namespace orrery::cuda {

void add_nccl(OrreryCudaApi& table);
/// NCCL's version, 0 without it.
int nccl_version();

}  // namespace orrery::cuda
