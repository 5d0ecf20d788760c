#include "core/base/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace orrery {
namespace {

thread_local ThreadPool* current_pool = nullptr;
thread_local bool inside_loop = false;

struct Loop {
  const std::function<void(std::int64_t, std::int64_t)>* body = nullptr;
  std::int64_t n = 0, block = 1;
  std::atomic<std::int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;

  void work() {
    inside_loop = true;
    try {
      for (;;) {
        const std::int64_t begin = next.fetch_add(block, std::memory_order_relaxed);
        if (begin >= n) break;
        (*body)(begin, std::min(n, begin + block));
      }
    } catch (...) {
      next.store(n, std::memory_order_relaxed);
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
    inside_loop = false;
  }
};

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable wake, done;
  Loop* loop = nullptr;
  std::uint64_t generation = 0;
  int busy = 0;
  bool stop = false;
  std::vector<std::thread> workers;

  void serve() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stop || generation != seen; });
      if (stop) return;
      seen = generation;
      Loop* mine = loop;
      lock.unlock();
      mine->work();
      lock.lock();
      if (--busy == 0) done.notify_one();
    }
  }

  void run(Loop& l) {
    {
      const std::lock_guard lock(mutex);
      loop = &l;
      busy = static_cast<int>(workers.size());
      ++generation;
    }
    wake.notify_all();
    l.work();
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return busy == 0; });
  }
};

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()), outer_(current_pool) {
  try {
    for (int i = 1; i < threads; ++i) state_->workers.emplace_back([this] { state_->serve(); });
  } catch (const std::system_error&) {
    // The system grants no more threads; loops give the same results with fewer.
  }
  current_pool = this;
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (auto& worker : state_->workers) worker.join();
  current_pool = outer_;
}

int loop_threads() {
  return inside_loop || current_pool == nullptr
             ? 1
             : static_cast<int>(current_pool->state_->workers.size()) + 1;
}

void parallel_for(std::int64_t n, std::int64_t block,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  block = std::max<std::int64_t>(1, block);
  if (loop_threads() == 1 || n <= block) {
    for (std::int64_t begin = 0; begin < n; begin += block) body(begin, std::min(n, begin + block));
    return;
  }
  Loop loop;
  loop.body = &body;
  loop.n = n;
  loop.block = block;
  current_pool->state_->run(loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace orrery
