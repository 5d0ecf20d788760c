#include "backends/cuda/library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <new>

#include "core/base/error.hpp"

namespace orrery::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "liborrery_cuda.so";
constexpr const char* kAdvice =
    "build it where nvcc is (docs/gpu.md), or set ORRERY_CUDA_LIBRARY to where it is";

/// Looks beside the program, and in the build folder or the sources, one or two folders above it.
/// Never in a folder that everybody may write, and never where the system would look.
std::string built_beside() {
  std::error_code failed;
  fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (int up = 0; up < 3 && !failed; ++up, folder = folder.parent_path()) {
    const fs::perms allowed = fs::status(folder, failed).permissions();
    if (failed || (allowed & fs::perms::others_write) != fs::perms::none) continue;
    for (const fs::path& at : {folder / kFile, folder / "backends" / "cuda" / kFile,
                               folder / "backends" / "cuda" / "device" / kFile})
      if (fs::exists(at, failed)) return at.string();
  }
  return {};
}

std::string chosen_file() {
  const char* set = std::getenv("ORRERY_CUDA_LIBRARY");
  if (set != nullptr && *set != '\0') return set;
  std::string built = built_beside();
  if (built.empty())
    throw NotBuilt(
        fmt::format("the CUDA library cannot be loaded (there is no {} beside this "
                    "program or in its build folder): {}",
                    kFile, kAdvice));
  return built;
}

}  // namespace

const OrreryCudaApi& load_api(const std::string& file) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw NotBuilt(fmt::format("the CUDA library cannot be loaded ({}): {}", ::dlerror(), kAdvice));
  const auto find =
      reinterpret_cast<decltype(&orrery_cuda_api)>(::dlsym(library, "orrery_cuda_api"));
  if (find == nullptr)
    throw NotBuilt(fmt::format("{} is no CUDA library of Orrery: {}", file, kAdvice));
  const OrreryCudaApi* found = find(kOrreryCudaVersion);
  if (found == nullptr || found->version != kOrreryCudaVersion)
    throw NotBuilt(
        fmt::format("{} belongs to another version of Orrery (its interface is not "
                    "{}): {}",
                    file, static_cast<int>(kOrreryCudaVersion), kAdvice));
  return *found;
}

const OrreryCudaApi& api() {
  static const OrreryCudaApi& loaded = load_api(chosen_file());
  return loaded;
}

void require(int code, std::string_view call) {
  if (code == kOrreryOk) return;
  if (code == kOrreryOutOfMemory) throw std::bad_alloc();
  throw Error(fmt::format("the GPU failed: {}: {}", call, api().last_error()));
}

}  // namespace orrery::cuda
