// One rank's use of a GPU, its streams and its events: what the opaque types of the interface are.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/device/arena.hpp"
#include "backends/cuda/device/failure.hpp"

namespace orrery::cuda {

/// Throws Failure with the call's name and the library's text if a call has failed.
void check(cudaError_t error, const char* call);
void check(cublasStatus_t status, const char* call);
void check(cusparseStatus_t status, const char* call);

/// The library's own memory, outside of the arena: workspaces and preparations of products.
class Beside {
 public:
  Beside() = default;
  Beside(OrreryDevice& device, std::int64_t bytes);
  ~Beside();
  Beside(Beside&& other) noexcept;
  Beside& operator=(Beside&& other) noexcept;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  OrreryDevice* device_ = nullptr;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace orrery::cuda

struct OrreryDevice {
  /// Errors    Failure (kOrreryOutOfMemory): the device has too little free memory
  OrreryDevice(std::int32_t number, std::int64_t arena_bytes);
  ~OrreryDevice();
  OrreryDevice(const OrreryDevice&) = delete;
  OrreryDevice& operator=(const OrreryDevice&) = delete;

  /// Makes this device the current one of the calling thread.
  void use() const;
  /// Errors    Failure (kOrreryOutOfMemory) with bytes asked, free and of the largest hole
  void* allocate(std::int64_t bytes);
  /// Errors    Failure: nothing was allocated there
  void release(void* p);
  /// Host memory that copies do not wait for.
  ///
  /// Errors    as allocate() and release()
  void* allocate_pinned(std::int64_t bytes);
  void release_pinned(void* p);
  OrreryDeviceMemory memory() const;

  const std::int32_t number;
  std::atomic<std::int64_t> beside_bytes{0};

 private:
  mutable std::mutex mutex_;
  orrery::cuda::Arena arena_;
  std::map<void*, std::int64_t> pinned_;  ///< bytes
  std::int64_t pinned_bytes_ = 0;
  char* base_ = nullptr;
  bool poison_ = false;  ///< fresh allocations hold NaN, to find reads of unwritten memory
};

struct OrreryStream {
  explicit OrreryStream(OrreryDevice& on);
  ~OrreryStream();
  OrreryStream(const OrreryStream&) = delete;
  OrreryStream& operator=(const OrreryStream&) = delete;

  /// Memory that the ops of this stream share, each until the next one begins.
  template <class T>
  T* scratch(std::int64_t count) {
    return static_cast<T*>(scratch_bytes(count * static_cast<std::int64_t>(sizeof(T))));
  }
  /// The same memory, for a user that keeps it after the next op has begun.
  std::shared_ptr<orrery::cuda::Beside> held_scratch() const { return scratch_; }
  /// The handles, made on first request.
  cublasHandle_t blas();
  cusparseHandle_t sparse();

  OrreryDevice& device;
  cudaStream_t stream = nullptr;

 private:
  void* scratch_bytes(std::int64_t bytes);

  std::shared_ptr<orrery::cuda::Beside> scratch_;  ///< graphs hold on to it
  orrery::cuda::Beside blas_workspace_;
  cublasHandle_t blas_ = nullptr;
  cusparseHandle_t sparse_ = nullptr;
};

struct OrreryEvent {
  explicit OrreryEvent(OrreryDevice& on);
  ~OrreryEvent();
  OrreryEvent(const OrreryEvent&) = delete;
  OrreryEvent& operator=(const OrreryEvent&) = delete;

  OrreryDevice& device;
  cudaEvent_t event = nullptr;
};
