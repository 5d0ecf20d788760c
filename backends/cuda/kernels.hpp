// The local ops of the vocabulary as calls of the CUDA library, on one stream.
#pragma once

#include <array>

#include "backends/cuda/cuda_device.hpp"
#include "backends/cuda/staging.hpp"
#include "core/runtime/kernels.hpp"

namespace orrery::cuda {

class StreamKernels final : public Kernels {
 public:
  StreamKernels(CudaDevice& device, OrreryStream* stream)
      : device_(device), stream_(stream), staging_(device, stream) {}
  std::string_view name() const override { return "cuda"; }
  void run(const Op& op, const RankMemory& memory) override;

 private:
  class Call;
  CudaDevice& device_;
  OrreryStream* stream_;
  Staging staging_;
};

}  // namespace orrery::cuda
