// A lane as a CUDA stream: an event behind every item, and one before those that are timed.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/cuda/cuda_device.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/mover.hpp"

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
  void begin_span() override;
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
  OrreryEvent* record_event();
  OrreryEvent* event_of(std::uint32_t position);

  CudaDevice& device_;
  Handle<OrreryStream> stream_;
  StreamMover mover_;
  StreamKernels kernels_;
  OrreryEvent* begin_ = nullptr;
  std::vector<Handle<OrreryEvent>> events_;  ///< the first `used_` are in use
  std::size_t used_ = 0;
  std::vector<TimedSpan> spans_;
  std::shared_ptr<const CudaDevice::Moment> moment_;

  std::mutex mutex_;                ///< of what both the lane's and the host's thread use:
  std::uint32_t past_ = 0;          ///< positions up to here passed when spans were taken last
  std::vector<OrreryEvent*> ends_;  ///< behind each later one; null where nothing was issued
};

}  // namespace orrery::cuda
