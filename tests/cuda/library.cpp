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

template <class Function>
Function emulated(const char* name) {
  std::string problem;
  const auto found = symbol<Function>(ORRERY_EMULATED_LIBRARY, name, problem);
  if (found == nullptr) throw std::runtime_error(problem);
  return found;
}

using GetApi = const OrreryCudaApi* (*)(std::int32_t);

}  // namespace

CudaLibrary emulated_cuda() {
  return {"emulated", emulated<GetApi>("orrery_cuda_api")(kOrreryCudaVersion)};
}

void emulate_lazily(bool yes) { emulated<void (*)(int)>("orrery_emulate_lazily")(yes ? 1 : 0); }

void emulate_failing_launch(int n) { emulated<void (*)(int)>("orrery_emulate_failing_launch")(n); }

CudaLibrary real_cuda() {
  const char* asked = std::getenv("ORRERY_CUDA_LIBRARY");
  std::string problem;
  const auto get =
      symbol<GetApi>(asked != nullptr ? asked : ORRERY_REAL_LIBRARY, "orrery_cuda_api", problem);
  if (get == nullptr) return {problem, nullptr};
  const OrreryCudaApi* api = get(kOrreryCudaVersion);
  if (api == nullptr) return {"the library has another interface version", nullptr};
  std::int32_t devices = 0;
  api->device_count(&devices);
  if (devices == 0) return {api->last_error(), nullptr};
  return {"gpu", api};
}

std::vector<CudaLibrary> cuda_libraries() {
  std::vector<CudaLibrary> list{emulated_cuda()};
  if (const CudaLibrary real = real_cuda(); real.api != nullptr) list.push_back(real);
  return list;
}

}  // namespace orrery::testing
