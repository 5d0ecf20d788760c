// Parallel loops over a pool that belongs to the calling thread, so that ranks share the cores
// fairly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace orrery {

/// Number of cores this process may use (affinity mask), at least 1.
int available_cores();

/// Workers for the loops of one thread: while a pool is alive, every parallel_for of the thread
/// that made it runs on `threads` threads (the caller is one of them). Pools nest; the innermost
/// counts.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  friend int loop_threads();
  friend void parallel_for(std::int64_t, std::int64_t,
                           const std::function<void(std::int64_t, std::int64_t)>&);
  struct State;
  std::unique_ptr<State> state_;
  ThreadPool* outer_;
};

/// Number of threads that a parallel_for called here would use.
int loop_threads();

/// Calls body(begin, end) for the ranges [k·block, min(n, (k+1)·block)), k = 0, 1, ..., on the
/// calling thread's pool; blocks are handed out dynamically, each exactly once, and all are done on
/// return. The partition into blocks does not depend on the number of threads: per-block results
/// combined in block order are the same for any pool. Inside a parallel_for, a nested one runs
/// serially.
///
/// Errors    the first exception of a body is rethrown after all threads have stopped
void parallel_for(std::int64_t n, std::int64_t block,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace orrery
