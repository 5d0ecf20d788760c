// The part of the CUDA runtime that Orrery's library uses, on the CPU: for tests where there is no
// GPU. Same names, same meaning; kernels run as fibers (fibers.hpp), streams as queues of host work
// (streams.cpp). It proves indices, barriers, order and arithmetic, and says nothing about speed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "tests/cuda/emulation/fibers.hpp"

// ---- the language -------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// Blocks of one host thread run one after another, so a block's shared memory can be the thread's.
#define __shared__ static thread_local

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

namespace orrery::emulation {

/// One of the built-in variables of a kernel: reads the running thread's place.
template <Index3 Place::*index>
struct BuiltIn {
  template <unsigned Index3::*axis>
  struct Axis {
    operator unsigned() const { return current_place->*index.*axis; }
  };
  Axis<&Index3::x> x;
  Axis<&Index3::y> y;
  Axis<&Index3::z> z;
};

}  // namespace orrery::emulation

inline constexpr orrery::emulation::BuiltIn<&orrery::emulation::Place::thread> threadIdx{};
inline constexpr orrery::emulation::BuiltIn<&orrery::emulation::Place::block> blockIdx{};
inline constexpr orrery::emulation::BuiltIn<&orrery::emulation::Place::block_extent> blockDim{};
inline constexpr orrery::emulation::BuiltIn<&orrery::emulation::Place::grid_extent> gridDim{};

inline void __syncthreads() { orrery::emulation::block_barrier(); }
inline void __syncwarp(unsigned mask = ~0U) { orrery::emulation::warp_exchange(mask, 0); }

namespace orrery::emulation {

/// The value of lane `source` among the lanes in `mask`.
template <class T>
T from_lane(unsigned mask, T value, unsigned source) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  const WarpWords& words = warp_exchange(mask, word);
  // The value of a lane outside the mask is undefined: a pattern that no test takes for a result.
  word = (mask >> source & 1U) != 0 ? words[source] : ~std::uint64_t{0};
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

inline unsigned this_lane() { return current_place->linear % 32; }

}  // namespace orrery::emulation

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned lane = orrery::emulation::this_lane(), w = static_cast<unsigned>(width);
  return orrery::emulation::from_lane(
      mask, value, (lane & ~(w - 1)) | (static_cast<unsigned>(source) & (w - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const unsigned lane = orrery::emulation::this_lane(), w = static_cast<unsigned>(width);
  const unsigned source = lane ^ static_cast<unsigned>(bits);
  return orrery::emulation::from_lane(mask, value, (source & ~(w - 1)) > lane ? lane : source);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = orrery::emulation::this_lane(), w = static_cast<unsigned>(width);
  return orrery::emulation::from_lane(mask, value,
                                      (lane & (w - 1)) + delta < w ? lane + delta : lane);
}
/// The threads of a grid take turns, so that nothing comes in between.
template <class T>
T atomicCAS(T* at, T expected, T value) {
  const T before = *at;
  if (before == expected) *at = value;
  return before;
}
template <class T>
T __ldg(const T* p) {
  return *p;
}

// ---- the runtime --------------------------------------------------------------------------------

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900
};
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
enum { cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaHostAllocDefault = 0 };
enum cudaDeviceAttr {
  cudaDevAttrClockRate = 13,
  cudaDevAttrMemoryClockRate = 36,
};

enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };

struct EmulatedStream;
struct EmulatedEvent;
struct EmulatedGraph;
using cudaStream_t = EmulatedStream*;
using cudaEvent_t = EmulatedEvent*;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraph*;

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int multiProcessorCount, major, minor, memoryBusWidth, l2CacheSize;
};

struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaDriverGetVersion(int*);
cudaError_t cudaRuntimeGetVersion(int*);
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int device);
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int device);
cudaError_t cudaDeviceGetPCIBusId(char*, int bytes, int device);
cudaError_t cudaSetDevice(int);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void**, std::size_t bytes);
cudaError_t cudaFree(void*);
cudaError_t cudaHostAlloc(void**, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int byte, std::size_t bytes, cudaStream_t);
cudaError_t cudaMemset(void*, int byte, std::size_t bytes);

namespace orrery::emulation {

/// Appends work to a stream; it runs at once, or when something waits for it (streams.cpp).
void enqueue(cudaStream_t, std::function<void()> work);
/// What a launch of these extents returns on a device.
cudaError_t judge_launch(dim3 grid, dim3 block);

}  // namespace orrery::emulation

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  namespace em = orrery::emulation;
  const dim3 grid = config->gridDim, block = config->blockDim;
  if (const cudaError_t error = em::judge_launch(grid, block); error != cudaSuccess) return error;
  [&](Parameters... coerced) {
    em::enqueue(config->stream, [=] {
      em::run_grid({grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                   [&] { kernel(coerced...); });
    });
  }(std::forward<Arguments>(arguments)...);
  return cudaSuccess;
}
