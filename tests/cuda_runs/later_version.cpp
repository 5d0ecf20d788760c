// A library of a version that this program does not know.
#include "backends/cuda/interface.h"

extern "C" const OrreryCudaApi* orrery_cuda_api(int32_t version) {
  static const OrreryCudaApi table{};
  return version == kOrreryCudaVersion + 1 ? &table : nullptr;
}
