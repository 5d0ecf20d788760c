// A lane as a CUDA stream: an event after every item, and one before those that are timed.
//
// With graphs (CudaDevice::Options) the items of local operations are held back and issued in runs,
// so that a repeated run is one launch. A run ends if the strategy records an event, something
// other than a local operation follows, somebody waits for one of its items, or it is long. It is
// then one span. Runs repeat only if their addresses do. So memory is freed when the host waits,
// and not as soon as work happens to have passed.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/cuda/cuda_device.hpp"
#include "backends/cuda/cuda_kernels.hpp"
#include "backends/cuda/cuda_mover.hpp"
#include "backends/cuda/graphs.hpp"

namespace orrery::cuda {

class CudaLane final : public DeviceLane {
 public:
  explicit CudaLane(CudaDevice& device);
  ~CudaLane() override;
  CudaLane(const CudaLane&) = delete;
  CudaLane& operator=(const CudaLane&) = delete;

  Kernels& kernels() override { return kernels_; }
  Mover& mover() override { return mover_; }
  void put(const Sparse& sparse, const Csr& pattern) override;
  void wait_for(DeviceLane& other, std::uint32_t position) override;
  void pass_event() override;
  void begin_span(const Op* op) override;
  void end_item(std::optional<Span> span) override;
  void skip_item() noexcept override;
  bool passed(std::uint32_t position) noexcept override;
  void await(std::uint32_t position) override;
  std::vector<Span> take_spans() override;

 private:
  struct TimedSpan {
    Span span;
    OrreryEvent *begin, *end;
  };
  /// An item that is held back; one without a span does nothing.
  struct HeldItem {
    std::vector<LibraryCall> calls;
    std::optional<Span> span;
  };
  // With mutex_ held:
  OrreryEvent* record_event();
  void issue_held();
  void issue_one_by_one(const std::vector<HeldItem>& items, std::size_t at, OrreryEvent* begin);
  OrreryEvent* event_of(std::uint32_t position);

  CudaDevice& device_;
  Handle<OrreryStream> stream_;
  StreamMover mover_;
  StreamKernels kernels_;
  std::optional<std::vector<LibraryCall>> calls_;  ///< of the item that is being held back
  bool issues_ = false;                            ///< whether the item itself issues something

  std::mutex mutex_;  ///< for all below: the lane's thread and those that wait for it use it
  Graphs graphs_;
  OrreryEvent* begin_ = nullptr;
  std::vector<Handle<OrreryEvent>> events_;  ///< the first `used_` are in use
  std::size_t used_ = 0;
  std::vector<TimedSpan> spans_;
  std::shared_ptr<const CudaDevice::Moment> moment_;
  std::uint32_t past_ = 0;          ///< positions up to here had passed when spans were last taken
  std::vector<OrreryEvent*> ends_;  ///< after each later one; null if nothing was issued, and
  std::vector<HeldItem> held_;      ///< for the last ones, which are these
  std::size_t held_calls_ = 0;
  std::uint32_t awaited_ = 0;  ///< the host has waited for positions up to here
};

}  // namespace orrery::cuda
