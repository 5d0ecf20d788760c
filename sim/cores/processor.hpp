// The processors: a device with its kernels, or a host with its tasks; the cores they share; and
// what communication takes from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "sim/cores/turns.hpp"
#include "sim/network/interconnect.hpp"

namespace orrery::sim {

/// Without turns all tasks on a device advance at one rate: 1 while it has cores for all, else cores /
/// requested threads (a CPU). With turns, tasks have a core or wait for one (Turns). Either way a factor
/// slows them while the device communicates.
///
/// (This is own code instead of SimGrid's hosts, because there a flow cannot take a core from a
/// kernel nor slow it down.)
class alignas(64) Processor {
 public:
  /// `cores` 0: an accelerator, whose tasks never wait for cores. `slowdown` of kernels while it
  /// communicates. `timer_token` is handed to on_timer() through the network. `turn` of a thread, in
  /// seconds; 0: tasks share the cores evenly.
  Processor(Interconnect& network, int cores, double slowdown, std::uint64_t timer_token,
            double turn = 0);

  bool has_cores() const { return cores_ > 0; }
  bool takes_turns() const { return turns_ != nullptr; }
  /// A task of this many seconds, alone, with this many threads.
  void start(double seconds, int threads, std::uint64_t token, Thread thread = {});
  /// Seconds of work that every task on cores completes in a second.
  double rate() const;
  /// A message begins (+1) or ends (−1) here.
  void communicates(int change);
  /// The timer rang. The tasks that are done are appended to `done`.
  void on_timer(std::vector<Done>& done);

 private:
  struct Task {
    double end;  ///< in seconds of work since the processor began
    std::uint64_t order, token;
    int threads;
    bool operator>(const Task& other) const {
      return end != other.end ? end > other.end : order > other.order;
    }
  };
  void advance();
  void schedule();
  double remaining() const;

  Interconnect& network_;
  int cores_;
  double slowdown_;
  std::uint64_t timer_token_;
  std::unique_ptr<Turns> turns_;  ///< then the tasks are there
  std::priority_queue<Task, std::vector<Task>, std::greater<>> tasks_;
  std::uint64_t started_ = 0;
  int threads_ = 0, messages_ = 0;
  double work_ = 0;  ///< seconds of work done since the beginning
  double at_ = 0;    ///< when `work_` was true
  Interconnect::Timer timer_ = nullptr;
};

}  // namespace orrery::sim
