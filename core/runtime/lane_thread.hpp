// One lane of the host executor: a thread that does its items in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace orrery {

class LaneThread {
 public:
  /// `threads` is the pool its items' loops run on.
  explicit LaneThread(int threads);
  /// Finishes what was issued.
  ~LaneThread();
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;

  /// Items must not throw.
  void enqueue(std::function<void()> item);
  /// Items done so far.
  std::uint32_t done() const;
  /// Blocks until `position` items are done.
  void await(std::uint32_t position);

 private:
  void serve(int threads);

  mutable std::mutex mutex_;
  std::condition_variable work_, progress_;
  std::deque<std::function<void()>> queue_;
  std::uint32_t done_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace orrery
