// liborrery_cuda.so, which no program links: it is found and loaded on demand.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/cuda/interface.h"

namespace orrery::cuda {

/// The functions of the library, loaded at first use: $ORRERY_CUDA_LIBRARY if it is set, else the
/// library that was built beside this program, else the one that the loader finds.
///
/// Errors    NotBuilt saying where it was searched and how to build it
const OrreryCudaApi& api();

/// The functions of one library file, or of a name that the loader looks for.
///
/// Errors    NotBuilt: not there, not such a library, or of another version
const OrreryCudaApi& load_api(const std::string& file);

/// Returns if `code` is kOrreryOk; `call` names the function.
///
/// Errors    std::bad_alloc (kOrreryOutOfMemory) · Error with the library's message
void require(int code, std::string_view call);

/// Owns what the library opened.
template <class T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

}  // namespace orrery::cuda
