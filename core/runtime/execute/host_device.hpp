// The device that is this process: tensors are on the heap, and a lane's work is done when its item
// returns.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "core/runtime/execute/kept_blocks.hpp"
#include "core/runtime/execute/rank_device.hpp"

namespace orrery {

using KernelFactory = std::function<std::unique_ptr<Kernels>()>;

class HostDevice final : public RankDevice {
 public:
  /// `make_kernels` is called once per lane; spans count from `origin`.
  HostDevice(KernelFactory make_kernels, std::chrono::steady_clock::time_point origin)
      : make_kernels_(std::move(make_kernels)), origin_(origin) {}

  std::chrono::steady_clock::time_point origin() const override { return origin_; }
  Storage& storage() override { return storage_; }
  std::unique_ptr<DeviceLane> open_lane(Lane lane) override;
  void drop_pattern(std::uint32_t) noexcept override {}

 private:
  KernelFactory make_kernels_;
  std::chrono::steady_clock::time_point origin_;
  KeptBlocks storage_{host_storage()};
};

}  // namespace orrery
