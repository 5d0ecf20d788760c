// One lane of the host executor: a thread that executes its items in order.
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
  /// `threads`: the pool for loops of its items. `moves_data`: its items mostly wait, so it should
  /// get a core soon after it wakes up.
  LaneThread(int threads, bool moves_data);
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
  void serve();

  mutable std::mutex mutex_;
  std::condition_variable work_, progress_;
  std::deque<std::function<void()>> queue_;
  static constexpr std::uint32_t kNobodyWaits = 0xffffffff;
  std::uint32_t done_ = 0;
  std::uint32_t awaited_ = kNobodyWaits;  ///< the first position that somebody waits for
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace orrery
