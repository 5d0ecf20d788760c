// The CUDA library of a test: the emulated one, and the real one where there is a GPU.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/interface.h"

namespace orrery::testing {

struct CudaLibrary {
  std::string name;  ///< "emulated" or "gpu"
  const OrreryCudaApi* api = nullptr;
  std::string why_not;  ///< why it cannot be tested here: not built, no driver, no device
};

/// The library whose sources run on the CPU.
CudaLibrary emulated_cuda();
/// true: from now on work runs only when something waits for it; false: at once.
void emulate_lazily(bool yes);
/// Its n-th kernel launch from now fails.
void emulate_failing_launch(int n);
/// The real library, from ORRERY_CUDA_LIBRARY or this build; the table is null where there is none.
CudaLibrary real_cuda();
/// All of these that can be run here.
std::vector<CudaLibrary> cuda_libraries();

}  // namespace orrery::testing
