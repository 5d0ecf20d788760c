#include "core/runtime/lane_thread.hpp"

#include "core/base/parallel.hpp"

namespace orrery {

LaneThread::LaneThread(int threads) : thread_([this, threads] { serve(threads); }) {}

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
  progress_.wait(lock, [&] { return done_ >= position; });
}

void LaneThread::serve(int threads) {
  const ThreadPool pool(threads);
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto item = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    item();
    lock.lock();
    ++done_;
    progress_.notify_all();
  }
}

}  // namespace orrery
