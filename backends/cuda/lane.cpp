#include "backends/cuda/lane.hpp"

#include <utility>

namespace orrery::cuda {
namespace {

Handle<OrreryStream> open_stream(const CudaDevice& device) {
  OrreryStream* stream = nullptr;
  require(api().stream_open(device.handle(), &stream), "stream_open");
  return {stream, api().stream_close};
}

}  // namespace

CudaLane::CudaLane(CudaDevice& device)
    : device_(device),
      stream_(open_stream(device)),
      mover_(device, stream_.get()),
      kernels_(device, stream_.get()),
      moment_(device.recent_moment()) {}

CudaLane::~CudaLane() {
  // Memory goes after the lanes: nothing may be under way then. An error was told before.
  api().stream_sync(stream_.get());
}

void CudaLane::put(const Sparse& sparse, const Csr& pattern) {
  // One that is replaced may still be read by what this lane has waited for.
  if (device_.pattern(sparse.id) != nullptr)
    require(api().stream_sync(stream_.get()), "stream_sync");
  OrreryPattern* opened = nullptr;
  require(api().pattern_open(stream_.get(), pattern.rows, pattern.cols, pattern.nnz(),
                             pattern.offsets.data(), pattern.columns.data(), &opened),
          "pattern_open");
  device_.put_pattern(sparse.id, {opened, api().pattern_close});
}

void CudaLane::wait_for(DeviceLane& other, std::uint32_t position) {
  OrreryEvent* event = static_cast<CudaLane&>(other).event_of(position);
  if (event != nullptr) require(api().stream_wait(stream_.get(), event), "stream_wait");
}

void CudaLane::begin_span() { begin_ = record_event(); }

void CudaLane::end_item(std::optional<Span> span) {
  OrreryEvent* end = record_event();
  if (span) spans_.push_back({*span, begin_, end});
  const std::lock_guard lock(mutex_);
  ends_.push_back(end);
}

void CudaLane::skip_item() noexcept {
  const std::lock_guard lock(mutex_);
  ends_.push_back(nullptr);
}

bool CudaLane::passed(std::uint32_t position) noexcept {
  OrreryEvent* event = event_of(position);
  return event == nullptr || api().event_done(event) != kOrreryNotReady;
}

void CudaLane::await(std::uint32_t position) {
  OrreryEvent* event = event_of(position);
  if (event != nullptr) require(api().event_sync(event), "event_sync");
}

std::vector<Span> CudaLane::take_spans() {
  std::vector<Span> spans;
  const auto time_of = [&](OrreryEvent* event) {
    double seconds = 0;
    require(api().event_seconds(moment_->event.get(), event, &seconds), "event_seconds");
    return moment_->seconds + seconds;
  };
  for (TimedSpan& timed : spans_) {
    timed.span.begin = time_of(timed.begin);
    timed.span.end = time_of(timed.end);
    spans.push_back(timed.span);
  }
  spans_.clear();
  moment_ = device_.recent_moment();
  const std::lock_guard lock(mutex_);
  past_ += static_cast<std::uint32_t>(ends_.size());
  ends_.clear();
  used_ = 0;
  return spans;
}

OrreryEvent* CudaLane::record_event() {
  if (used_ == events_.size()) {
    OrreryEvent* event = nullptr;
    require(api().event_open(device_.handle(), &event), "event_open");
    events_.emplace_back(event, api().event_close);
  }
  OrreryEvent* event = events_[used_].get();
  require(api().event_record(event, stream_.get()), "event_record");
  ++used_;
  return event;
}

/// Behind a position; null where it has passed for certain.
OrreryEvent* CudaLane::event_of(std::uint32_t position) {
  const std::lock_guard lock(mutex_);
  return position <= past_ ? nullptr : ends_[position - past_ - 1];
}

}  // namespace orrery::cuda
