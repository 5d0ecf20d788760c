// A device that computes for a while, whatever it is asked, to see who goes on meanwhile.
#pragma once

#include <chrono>
#include <memory>

#include "core/runtime/execute/kernels.hpp"

namespace orrery::testing {

/// Every op takes this many seconds of one core.
class BusyKernels final : public Kernels {
 public:
  explicit BusyKernels(double seconds) : seconds_(seconds) {}
  std::string_view name() const override { return "busy"; }
  void run(const Op&, const RankMemory&) override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_);
    while (std::chrono::steady_clock::now() < end) {
    }
  }

 private:
  double seconds_;
};

}  // namespace orrery::testing
