#include "core/runtime/execute/lane_thread.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"
#include "core/runtime/execute/short_turns.hpp"

namespace orrery {

LaneThread::LaneThread(int threads, bool moves_data)
    : thread_([this, threads, moves_data] {
        if (moves_data) ask_for_short_turns();
        const ThreadPool pool(threads);
        serve();
      }) {}

LaneThread::~LaneThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void LaneThread::enqueue(std::function<void()> item) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(item));
  }
  work_.notify_one();
}

std::uint32_t LaneThread::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void LaneThread::await(std::uint32_t position) {
  std::unique_lock lock(mutex_);
  while (done_ < position) {
    awaited_ = std::min(awaited_, position);
    progress_.wait(lock);
  }
}

void LaneThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto item = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    item();
    lock.lock();
    if (++done_ < awaited_) continue;
    awaited_ = kNobodyWaits;
    progress_.notify_all();  // whoever waits for more must say so again
  }
}

}  // namespace orrery
