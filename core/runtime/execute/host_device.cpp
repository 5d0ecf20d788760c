#include "core/runtime/execute/host_device.hpp"

#include <mutex>
#include <utility>

namespace orrery {
namespace {

class HostLane final : public DeviceLane {
 public:
  HostLane(std::unique_ptr<Kernels> kernels, std::chrono::steady_clock::time_point origin)
      : kernels_(std::move(kernels)), origin_(origin) {}

  Kernels& kernels() override { return *kernels_; }
  Mover& mover() override { return host_mover(); }
  void put(const Sparse&, const Csr&) override {}  // kernels read it in place
  void wait_for(DeviceLane&, std::uint32_t) override {}
  void begin_span(const Op*) override { begin_ = now(); }
  void end_item(std::optional<Span> span) override {
    if (!span) return;
    span->begin = begin_;
    span->end = now();
    const std::lock_guard lock(mutex_);
    spans_.push_back(*span);
  }
  void skip_item() noexcept override {}
  bool passed(std::uint32_t) noexcept override { return true; }
  void await(std::uint32_t) override {}
  std::vector<Span> take_spans() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(spans_, {});
  }

 private:
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin_).count();
  }

  std::unique_ptr<Kernels> kernels_;
  std::chrono::steady_clock::time_point origin_;
  double begin_ = 0;
  std::mutex mutex_;
  std::vector<Span> spans_;
};

}  // namespace

std::unique_ptr<DeviceLane> HostDevice::open_lane(Lane) {
  return std::make_unique<HostLane>(make_kernels_(), origin_);
}

}  // namespace orrery
