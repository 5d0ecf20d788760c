#include "backends/cuda/lane.hpp"

#include <algorithm>
#include <utility>

#include "core/runtime/execute/operation_failure.hpp"

namespace orrery::cuda {
namespace {

Handle<OrreryStream> open_stream(const CudaDevice& device) {
  OrreryStream* stream = nullptr;
  require(api().stream_open(device.handle(), &stream), "stream_open");
  return {stream, api().stream_close};
}

/// A run is issued when it has this many calls, so that the device need not wait for the end of an
/// epoch's run.
///
/// Source    assumption: a launch costs the host some ten calls
constexpr std::size_t kLongestRun = 32;

/// Whether both belong to the same part of an epoch's time.
bool belong_together(const Phase& a, const Phase& b) {
  return a.epoch == b.epoch && a.in_epoch() == b.in_epoch() &&
         (a.stage == Stage::load) == (b.stage == Stage::load);
}

}  // namespace

CudaLane::CudaLane(CudaDevice& device)
    : device_(device),
      stream_(open_stream(device)),
      mover_(device, stream_.get()),
      kernels_(device, stream_.get()),
      graphs_(stream_.get()),
      moment_(device.recent_moment()) {}

CudaLane::~CudaLane() {
  // Memory is freed after the lanes: nothing may be pending then. An error was reported before.
  api().stream_sync(stream_.get());
}

void CudaLane::put(const Sparse& sparse, const Csr& pattern) {
  {
    const std::lock_guard lock(mutex_);
    issue_held();
    issues_ = true;
  }
  // Other lanes' work, which this lane has waited for, may still read a pattern that is replaced.
  if (device_.pattern(sparse.id).pattern != nullptr)
    require(api().stream_sync(stream_.get()), "stream_sync");
  OrreryPattern* opened = nullptr;
  require(api().pattern_open(stream_.get(), pattern.rows, pattern.cols, pattern.nnz(),
                             pattern.offsets.data(), pattern.columns.data(), &opened),
          "pattern_open");
  device_.put_pattern(sparse.id, {opened, api().pattern_close});
}

void CudaLane::wait_for(DeviceLane& other, std::uint32_t position) {
  auto& lane = static_cast<CudaLane&>(other);
  OrreryEvent* event = nullptr;
  {
    const std::lock_guard lock(lane.mutex_);
    event = lane.event_of(position);
  }
  if (event == nullptr) return;
  const std::lock_guard lock(mutex_);
  issue_held();  // it came before the wait
  issues_ = true;
  require(api().stream_wait(stream_.get(), event), "stream_wait");
}

void CudaLane::pass_event() {
  const std::lock_guard lock(mutex_);
  issue_held();
}

void CudaLane::begin_span(const Op* op) {
  if (device_.options().graphs && op != nullptr && StreamKernels::can_be_kept(*op)) {
    kernels_.keep_in(&calls_.emplace());
    return;
  }
  calls_.reset();
  kernels_.keep_in(nullptr);
  const std::lock_guard lock(mutex_);
  issue_held();
  issues_ = true;
  begin_ = record_event();
}

void CudaLane::end_item(std::optional<Span> span) {
  const std::lock_guard lock(mutex_);
  const bool holds = calls_ && span;
  if (holds && !held_.empty() &&
      (held_calls_ >= kLongestRun || !belong_together(held_.front().span->phase, span->phase)))
    issue_held();
  if (holds || (!issues_ && !held_.empty())) {
    const std::size_t calls = holds ? calls_->size() : 0;
    held_calls_ += calls;
    held_.push_back({holds ? *std::exchange(calls_, {}) : std::vector<LibraryCall>{}, span});
    ends_.push_back(nullptr);
    return;
  }
  issues_ = false;
  OrreryEvent* end = record_event();
  if (span) spans_.push_back({*span, begin_, end});
  ends_.push_back(end);
}

void CudaLane::skip_item() noexcept {
  const std::lock_guard lock(mutex_);
  held_.clear();  // the rank has failed
  held_calls_ = 0;
  calls_.reset();
  issues_ = false;
  ends_.push_back(nullptr);
}

bool CudaLane::passed(std::uint32_t position) noexcept {
  const std::lock_guard lock(mutex_);
  if (device_.options().graphs) return position <= std::max(past_, awaited_);
  OrreryEvent* event = event_of(position);
  return event == nullptr || api().event_done(event) != kOrreryNotReady;
}

void CudaLane::await(std::uint32_t position) {
  OrreryEvent* event = nullptr;
  {
    const std::lock_guard lock(mutex_);
    event = event_of(position);
    awaited_ = std::max(awaited_, position);
  }
  if (event != nullptr) require(api().event_sync(event), "event_sync");
}

std::vector<Span> CudaLane::take_spans() {
  std::vector<Span> spans;
  const auto time_of = [&](OrreryEvent* event) {
    double seconds = 0;
    require(api().event_seconds(moment_->event.get(), event, &seconds), "event_seconds");
    return moment_->seconds + seconds;
  };
  const std::lock_guard lock(mutex_);
  for (TimedSpan& timed : spans_) {
    timed.span.begin = time_of(timed.begin);
    timed.span.end = time_of(timed.end);
    spans.push_back(timed.span);
  }
  spans_.clear();
  moment_ = device_.recent_moment();
  past_ += static_cast<std::uint32_t>(ends_.size());
  ends_.clear();
  used_ = 0;
  return spans;
}

/// Issues what is held back: as a graph, if it came before.
void CudaLane::issue_held() {
  if (held_.empty()) return;
  const std::vector<HeldItem> items = std::exchange(held_, {});
  held_calls_ = 0;
  const std::size_t first = ends_.size() - items.size();
  OrreryEvent* begin = record_event();
  std::vector<LibraryCall> run;
  Span whole = *items.front().span;
  whole.kind = "graph";
  whole.flops = whole.bytes = 0;
  whole.shape = {};
  for (const HeldItem& item : items) {
    run.insert(run.end(), item.calls.begin(), item.calls.end());
    whole.flops += item.span ? item.span->flops : 0;
    whole.bytes += item.span ? item.span->bytes : 0;
  }
  bool launched = false;
  as_operation(whole.kind, whole.phase, [&] { launched = graphs_.launch(run); });
  if (!launched) return issue_one_by_one(items, first, begin);
  OrreryEvent* end = record_event();
  spans_.push_back({whole, begin, end});
  std::fill(ends_.begin() + static_cast<std::ptrdiff_t>(first), ends_.end(), end);
}

void CudaLane::issue_one_by_one(const std::vector<HeldItem>& items, std::size_t at,
                                OrreryEvent* begin) {
  for (const HeldItem& item : items) {
    OrreryEvent* end = begin;
    if (item.span) {
      as_operation(item.span->kind, item.span->phase, [&] {
        for (const LibraryCall& call : item.calls) call.issue(stream_.get());
      });
      end = record_event();
      spans_.push_back({*item.span, begin, end});
    }
    ends_[at++] = begin = end;
  }
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

/// The event after a position, which is issued if it was held back; null if it has certainly
/// passed.
OrreryEvent* CudaLane::event_of(std::uint32_t position) {
  if (position > past_ + ends_.size() - held_.size()) issue_held();
  return position <= past_ ? nullptr : ends_[position - past_ - 1];
}

}  // namespace orrery::cuda
