#include "backends/cuda/device/device.cuh"

#include <cstdlib>
#include <utility>

namespace orrery::cuda {
namespace {

std::string failed(const char* call, const char* text, int code) {
  return std::string(call) + " failed: " + text + " (" + std::to_string(code) + ")";
}

/// Device memory from the driver; `what` names its purpose in the message.
void* take_from_driver(std::int64_t bytes, const char* what) {
  void* p = nullptr;
  if (cudaMalloc(&p, static_cast<std::size_t>(bytes)) == cudaSuccess) return p;
  cudaGetLastError();
  std::size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  throw Failure{kOrreryOutOfMemory, std::string(what) + " asks for " + std::to_string(bytes) +
                                        " bytes of device memory, but " +
                                        std::to_string(free_bytes) + " of " +
                                        std::to_string(total) + " are free"};
}

}  // namespace

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not report this one's error
  throw Failure{kOrreryFailed, failed(call, cudaGetErrorString(error), error)};
}
void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Failure{kOrreryFailed, failed(call, cublasGetStatusString(status), status)};
}
void check(cusparseStatus_t status, const char* call) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw Failure{kOrreryFailed, failed(call, cusparseGetErrorString(status), status)};
}

Beside::Beside(OrreryDevice& device, std::int64_t bytes) : device_(&device), bytes_(bytes) {
  if (bytes > 0) data_ = take_from_driver(bytes, "a workspace of the CUDA library");
  device.beside_bytes += bytes;
}
Beside::~Beside() {
  if (data_ != nullptr) cudaFree(data_);
  if (device_ != nullptr) device_->beside_bytes -= bytes_;
}
Beside::Beside(Beside&& other) noexcept { *this = std::move(other); }
Beside& Beside::operator=(Beside&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace orrery::cuda

using orrery::cuda::Arena;
using orrery::cuda::Beside;
using orrery::cuda::check;
using orrery::cuda::Failure;

OrreryDevice::OrreryDevice(std::int32_t number_, std::int64_t arena_bytes)
    : number(number_), arena_(arena_bytes) {
  use();
  const char* poison = std::getenv("ORRERY_CUDA_POISON");
  poison_ = poison != nullptr && *poison == '1';
  if (arena_.capacity() > 0)
    base_ = static_cast<char*>(
        orrery::cuda::take_from_driver(arena_.capacity(), "the arena of a rank"));
}

OrreryDevice::~OrreryDevice() {
  for (const auto& [p, bytes] : pinned_) cudaFreeHost(p);
  if (base_ != nullptr) cudaFree(base_);
}

void OrreryDevice::use() const { check(cudaSetDevice(number), "cudaSetDevice"); }

void* OrreryDevice::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto first = arena_.take(bytes);
  if (!first)
    throw Failure{kOrreryOutOfMemory, "the arena of " + std::to_string(arena_.capacity()) +
                                          " bytes has no room for " + std::to_string(bytes) + ": " +
                                          std::to_string(arena_.capacity() - arena_.in_use()) +
                                          " are free, the largest hole has " +
                                          std::to_string(arena_.largest_hole())};
  if (poison_ && bytes > 0) {
    use();
    check(cudaMemset(base_ + *first, 0xFF, static_cast<std::size_t>(bytes)), "cudaMemset");
  }
  return base_ + *first;
}

void OrreryDevice::release(void* p) {
  const std::lock_guard lock(mutex_);
  orrery::cuda::require(arena_.give_back(static_cast<char*>(p) - base_),
                        "release: no allocation of this device begins there");
}

void* OrreryDevice::allocate_pinned(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  use();
  void* p = nullptr;
  // At least one byte, so that every allocation has an address of its own.
  const auto asked = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
  if (cudaHostAlloc(&p, asked, cudaHostAllocDefault) != cudaSuccess) {
    cudaGetLastError();
    throw Failure{kOrreryOutOfMemory,
                  "the host has no " + std::to_string(bytes) + " bytes left that can be pinned"};
  }
  pinned_[p] = bytes;
  pinned_bytes_ += bytes;
  return p;
}

void OrreryDevice::release_pinned(void* p) {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(p);
  orrery::cuda::require(found != pinned_.end(),
                        "release_pinned: no allocation of this device begins there");
  use();
  check(cudaFreeHost(p), "cudaFreeHost");
  pinned_bytes_ -= found->second;
  pinned_.erase(found);
}

OrreryDeviceMemory OrreryDevice::memory() const {
  const std::lock_guard lock(mutex_);
  return {arena_.capacity(),     arena_.in_use(), arena_.peak(),
          arena_.largest_hole(), beside_bytes,    pinned_bytes_};
}

OrreryStream::OrreryStream(OrreryDevice& on) : device(on) {
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

OrreryStream::~OrreryStream() {
  if (sparse_ != nullptr) cusparseDestroy(sparse_);
  if (blas_ != nullptr) cublasDestroy(blas_);
  cudaStreamDestroy(stream);
}

void* OrreryStream::scratch_bytes(std::int64_t bytes) {
  if (scratch_ == nullptr || bytes > scratch_->bytes()) {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");  // queued work uses the old one
    scratch_.reset();
    scratch_ = std::make_shared<Beside>(device, bytes);
  }
  return scratch_->as<void>();
}

cublasHandle_t OrreryStream::blas() {
  if (blas_ != nullptr) return blas_;
  // The size that NVIDIA recommends for Hopper. An own workspace keeps results repeatable with
  // several streams.
  constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20U;
  blas_workspace_ = Beside(device, kWorkspaceBytes);
  check(cublasCreate(&blas_), "cublasCreate");
  check(cublasSetStream(blas_, stream), "cublasSetStream");
  check(cublasSetWorkspace(blas_, blas_workspace_.as<void>(), kWorkspaceBytes),
        "cublasSetWorkspace");
  return blas_;
}

cusparseHandle_t OrreryStream::sparse() {
  if (sparse_ != nullptr) return sparse_;
  check(cusparseCreate(&sparse_), "cusparseCreate");
  check(cusparseSetStream(sparse_, stream), "cusparseSetStream");
  return sparse_;
}

OrreryEvent::OrreryEvent(OrreryDevice& on) : device(on) {
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
}
OrreryEvent::~OrreryEvent() { cudaEventDestroy(event); }
