// Copies and sums on a lane's stream, for ranks that share a process.
#pragma once

#include "backends/cuda/cuda_device.hpp"
#include "core/runtime/execute/mover.hpp"

namespace orrery::cuda {

/// In the order of one stream. The memory of other ranks may be on other GPUs: their bytes are
/// copied, never read by a kernel.
class StreamMover final : public Mover {
 public:
  StreamMover(CudaDevice& device, OrreryStream* stream) : device_(device), stream_(stream) {}
  ~StreamMover() override;
  StreamMover(const StreamMover&) = delete;
  StreamMover& operator=(const StreamMover&) = delete;

  void copy(void* to, const void* from, std::int64_t bytes) override;
  void sum(DType dtype, std::span<const void* const> parts, void* to, std::int64_t n) override;
  void settle() override;
  /// Exchanges the bytes of two places of this rank.
  void swap(void* a, void* b, std::int64_t bytes);

  OrreryStream* stream() const { return stream_; }

 private:
  char* scratch();

  CudaDevice& device_;
  OrreryStream* stream_;
  char* scratch_ = nullptr;  ///< two pieces, made at first use
};

OrreryDType dtype_of(DType dtype);

}  // namespace orrery::cuda
