// The processors: a device with its kernels, or a host with its tasks; the cores they share; and
// what communication takes from them.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/network/interconnect.hpp"

namespace orrery::sim {

/// All tasks on a device advance at one rate: 1 while it has cores for all, else cores / requested
/// threads (a CPU), reduced by a factor while the device communicates.
///
/// (This is own code instead of SimGrid's hosts, because there a flow cannot take a core from a
/// kernel nor slow it down.)
class alignas(64) Processor {
 public:
  /// `cores` 0: an accelerator, whose tasks never wait for cores. `slowdown` of kernels while it
  /// communicates. `timer_token` is handed to on_timer() through the network.
  Processor(Interconnect& network, int cores, double slowdown, std::uint64_t timer_token)
      : network_(network), cores_(cores), slowdown_(slowdown), timer_token_(timer_token) {}

  bool has_cores() const { return cores_ > 0; }
  /// A task of this many seconds, alone, with this many threads.
  void start(double seconds, int threads, std::uint64_t token);
  /// Seconds of work that every task completes in a second.
  double rate() const;
  /// A message begins (+1) or ends (−1) here.
  void communicates(int change);
  /// The timer rang. Tokens of the tasks that are done are appended to `done`.
  void on_timer(std::vector<std::uint64_t>& done);

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

  Interconnect& network_;
  int cores_;
  double slowdown_;
  std::uint64_t timer_token_;
  std::priority_queue<Task, std::vector<Task>, std::greater<>> tasks_;
  std::uint64_t started_ = 0;
  int threads_ = 0, messages_ = 0;
  double work_ = 0;  ///< seconds of work done since the beginning
  double at_ = 0;    ///< when `work_` was true
  Interconnect::Timer timer_ = nullptr;
};

}  // namespace orrery::sim
