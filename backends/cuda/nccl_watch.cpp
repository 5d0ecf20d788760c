#include "backends/cuda/nccl_watch.hpp"

#include <fmt/core.h>

#include <utility>

namespace orrery::cuda {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);

}  // namespace

NcclWatch::NcclWatch(CudaDevice& device, int rank, double wait_seconds,
                     std::function<void(const std::string& what)> failed)
    : device_(device),
      rank_(rank),
      wait_seconds_(wait_seconds),
      failed_(std::move(failed)),
      thread_([this] { watch(); }) {}

NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void NcclWatch::add(OrreryNccl* communicator) {
  const std::lock_guard lock(mutex_);
  communicators_.push_back(communicator);
}

void NcclWatch::begins(OrreryStream* stream, const std::string& operation) {
  const std::lock_guard lock(mutex_);
  under_way_[stream].push_back({operation, Clock::now(), {nullptr, nullptr}});
}

void NcclWatch::issued(OrreryStream* stream) {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) {
    OrreryEvent* event = nullptr;
    require(api().event_open(device_.handle(), &event), "event_open");
    spare_.emplace_back(event, api().event_close);
  }
  Handle<OrreryEvent> end = std::move(spare_.back());
  spare_.pop_back();
  require(api().event_record(end.get(), stream), "event_record");
  under_way_[stream].back().end = std::move(end);
}

void NcclWatch::abort() noexcept {
  const std::lock_guard lock(mutex_);
  abort_locked();
}

bool NcclWatch::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

void NcclWatch::abort_locked() noexcept {
  if (std::exchange(aborted_, true)) return;
  for (OrreryNccl* communicator : communicators_) api().nccl_abort(communicator);
}

void NcclWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLookEvery, [&] { return stop_; })) {
    if (aborted_) continue;
    const std::string what = look();
    if (what.empty()) continue;
    abort_locked();
    lock.unlock();
    failed_(what);
    lock.lock();
  }
}

/// What has failed; empty: nothing.
std::string NcclWatch::look() {
  std::string head = "no operation under way";
  const auto now = Clock::now();
  for (auto& [stream, operations] : under_way_) {
    const auto ended = [](const Operation& o) {
      return o.end && api().event_done(o.end.get()) == kOrreryOk;
    };
    while (!operations.empty() && ended(operations.front())) {
      spare_.push_back(std::move(operations.front().end));
      operations.pop_front();
      if (!operations.empty()) operations.front().since = now;
    }
    if (operations.empty()) continue;
    const Operation& oldest = operations.front();
    head = oldest.what;
    const double seconds = std::chrono::duration<double>(now - oldest.since).count();
    if (seconds > wait_seconds_)
      return fmt::format("rank {}: {} has not ended in {:.0f} s", rank_, oldest.what, seconds);
  }
  for (OrreryNccl* communicator : communicators_)
    if (api().nccl_async_error(communicator) != kOrreryOk)
      return fmt::format("rank {}: NCCL failed in {}: {}", rank_, head, api().last_error());
  return {};
}

}  // namespace orrery::cuda
