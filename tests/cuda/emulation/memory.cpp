// Devices and memory of the emulated runtime: pages that exist once they are touched, so that
// arenas of a GPU's size can be opened.
#include <cuda_runtime.h>
#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/cuda/emulation/emulation.hpp"

namespace {

constexpr std::size_t kDeviceBytes = std::size_t{64} << 30U;

struct Blocks {
  std::mutex mutex;
  std::map<const char*, std::size_t> sizes;  ///< device and pinned memory by first byte
  std::map<const char*, bool> on_device;
  std::size_t device_bytes = 0;
};
Blocks& blocks() {
  static Blocks all;
  return all;
}

cudaError_t take(void** out, std::size_t bytes, bool on_device) {
  *out = nullptr;
  if (orrery::emulation::captures()) return cudaErrorStreamCaptureUnsupported;
  if (bytes == 0) return cudaSuccess;
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  if (on_device && bytes > kDeviceBytes - all.device_bytes) return cudaErrorMemoryAllocation;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return cudaErrorMemoryAllocation;
  if (on_device) all.device_bytes += bytes;
  all.sizes[static_cast<char*>(p)] = bytes;
  all.on_device[static_cast<char*>(p)] = on_device;
  *out = p;
  return cudaSuccess;
}

cudaError_t give_back(void* p) {
  if (orrery::emulation::captures()) return cudaErrorStreamCaptureUnsupported;
  if (p == nullptr) return cudaSuccess;
  orrery::emulation::run_all();  // as cudaFree waits for the device
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  const auto found = all.sizes.find(static_cast<char*>(p));
  if (found == all.sizes.end()) return cudaErrorInvalidValue;
  if (all.on_device[found->first]) all.device_bytes -= found->second;
  munmap(p, found->second);
  all.on_device.erase(found->first);
  all.sizes.erase(found);
  return cudaSuccess;
}

/// Tests with the emulation must find reads of memory that nobody wrote.
__attribute__((constructor)) void poison_by_default() { setenv("ORRERY_CUDA_POISON", "1", 0); }

int device_count() {
  const char* asked = std::getenv("ORRERY_EMULATED_DEVICES");
  return asked == nullptr ? 1 : std::atoi(asked);
}

}  // namespace

bool orrery::emulation::known(const void* p) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  auto after = all.sizes.upper_bound(static_cast<const char*>(p));
  if (after == all.sizes.begin()) return false;
  --after;
  return static_cast<const char*>(p) < after->first + after->second;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
  }
  return "unknown error";
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return *count == 0 ? cudaErrorInsufficientDriver : cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device >= 0 && device < device_count() ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* to, int device) {
  *to = {};
  std::strcpy(to->name, "emulated on the CPU");
  to->totalGlobalMem = kDeviceBytes;
  to->multiProcessorCount = 4;
  to->major = 9;
  to->l2CacheSize = 1 << 20;
  to->memoryBusWidth = 64;
  return cudaSetDevice(device);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device) {
  *value = 1;
  return cudaSetDevice(device);
}

cudaError_t cudaDeviceGetPCIBusId(char* to, int bytes, int device) {
  std::snprintf(to, static_cast<std::size_t>(bytes), "emulated:%d", device);
  return cudaSetDevice(device);
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  const std::lock_guard lock(blocks().mutex);
  *free_bytes = kDeviceBytes - blocks().device_bytes;
  *total = kDeviceBytes;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, std::size_t bytes) { return take(out, bytes, true); }
cudaError_t cudaFree(void* p) { return give_back(p); }
cudaError_t cudaHostAlloc(void** out, std::size_t bytes, unsigned) {
  return take(out, bytes, false);
}
cudaError_t cudaFreeHost(void* p) { return give_back(p); }
