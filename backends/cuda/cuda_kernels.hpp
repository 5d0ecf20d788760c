// The local ops of the vocabulary as calls of the CUDA library, on one stream.
#pragma once

#include <vector>

#include "backends/cuda/cuda_device.hpp"
#include "backends/cuda/library_call.hpp"
#include "backends/cuda/staging.hpp"
#include "core/runtime/execute/kernels.hpp"

namespace orrery::cuda {

class StreamKernels final : public Kernels {
 public:
  StreamKernels(CudaDevice& device, OrreryStream* stream)
      : device_(device), stream_(stream), staging_(device, stream) {}
  std::string_view name() const override { return "cuda"; }
  void run(const Op& op, const RankMemory& memory) override;
  /// Whether everything that an op does consists of calls that can be issued later, and more than
  /// once.
  static bool can_be_kept(const Op& op);
  /// From now on the calls of ops that can be kept are added here instead of issued; null: issued.
  void keep_in(std::vector<LibraryCall>* calls) { kept_ = calls; }

 private:
  class Call;
  CudaDevice& device_;
  OrreryStream* stream_;
  Staging staging_;
  std::vector<LibraryCall>* kept_ = nullptr;
};

}  // namespace orrery::cuda
