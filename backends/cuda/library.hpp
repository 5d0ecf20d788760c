// liborrery_cuda.so, which no program links: found and loaded when CUDA is asked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/cuda/interface.h"

namespace orrery::cuda {

/// The functions of the library, loaded at first use: $ORRERY_CUDA_LIBRARY where it is set, else
/// the one that was built beside this program, else as the loader finds it.
///
/// Errors    NotBuilt saying where it was looked for and how to build it
const OrreryCudaApi& api();

/// The functions of one library file, or of a name that the loader looks for.
///
/// Errors    NotBuilt: not there, not such a library, or of another version
const OrreryCudaApi& load_api(const std::string& file);

/// Returns where `code` is kOrreryOk; `call` names the function.
///
/// Errors    std::bad_alloc (kOrreryOutOfMemory) · Error with what the library says
void require(int code, std::string_view call);

/// Owns what the library opened.
template <class T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

}  // namespace orrery::cuda
