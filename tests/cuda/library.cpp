#include "tests/cuda/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

namespace orrery::testing {
namespace {

/// A symbol of a shared library; null, with the loader's text in `problem`, where there is none.
template <class Function>
Function symbol(const char* library, const char* name, std::string& problem) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* found = handle == nullptr ? nullptr : dlsym(handle, name);
  if (found == nullptr) problem = dlerror();
  return reinterpret_cast<Function>(found);
}

/// The place where it was built, or where a machine that did not build it has it.
const char* emulated_library() {
  const char* set = std::getenv("ORRERY_EMULATED_LIBRARY");
  return set != nullptr ? set : ORRERY_EMULATED_LIBRARY;
}

template <class Function>
Function emulated(const char* name) {
  std::string problem;
  const auto found = symbol<Function>(emulated_library(), name, problem);
  if (found == nullptr) throw std::runtime_error(problem);
  return found;
}

using GetApi = const OrreryCudaApi* (*)(std::int32_t);

}  // namespace

CudaLibrary emulated_cuda() {
  return {"emulated", emulated<GetApi>("orrery_cuda_api")(kOrreryCudaVersion), ""};
}

void emulate_lazily(bool yes) { emulated<void (*)(int)>("orrery_emulate_lazily")(yes ? 1 : 0); }

void emulate_failing_launch(int n) { emulated<void (*)(int)>("orrery_emulate_failing_launch")(n); }

CudaLibrary real_cuda() {
  CudaLibrary library{"gpu", nullptr, ""};
  const char* asked = std::getenv("ORRERY_CUDA_LIBRARY");
  const auto get = symbol<GetApi>(asked != nullptr ? asked : ORRERY_REAL_LIBRARY, "orrery_cuda_api",
                                  library.why_not);
  if (get == nullptr) return library;
  library.api = get(kOrreryCudaVersion);
  if (library.api == nullptr) {
    library.why_not = "it has another interface version";
    return library;
  }
  std::int32_t devices = 0;
  library.api->device_count(&devices);
  if (devices == 0) library.why_not = library.api->last_error();
  return library;
}

std::vector<CudaLibrary> cuda_libraries() {
  std::vector<CudaLibrary> list{emulated_cuda()};
  if (const CudaLibrary real = real_cuda(); real.why_not.empty()) list.push_back(real);
  return list;
}

}  // namespace orrery::testing
