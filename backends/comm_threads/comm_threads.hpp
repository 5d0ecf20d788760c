// Ranks as threads of one process: collectives copy straight from each other's memory.
#pragma once

#include <functional>
#include <memory>

#include "core/runtime/execute/communicator.hpp"

namespace orrery {

/// The ranks of one process. Every rank's part runs on a thread of its own.
class ThreadWorld {
 public:
  explicit ThreadWorld(int ranks);
  ~ThreadWorld();
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;

  /// Runs body(rank, communicator) on one thread per rank and waits for all. If ranks fail, the
  /// others are woken and the first failure is rethrown (never the Aborted of a rank that was only
  /// woken).
  void run(const std::function<void(int rank, Communicator& communicator)>& body);

 private:
  class Rank;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace orrery
