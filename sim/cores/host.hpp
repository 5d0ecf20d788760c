// The processors that work for the ranks of a server, or of a machine that is a device: cores and
// memory for host tasks, and the clock of threads that issue on the same cores.
#pragma once

#include <optional>
#include <vector>

#include "sim/cores/processor.hpp"

namespace orrery::sim {

/// The progress of threads that issue without a pause, on cores whose rate changes: seconds of work
/// against seconds of time. Both are the same number as long as the rate is 1.
class HostClock {
 public:
  /// The work done by then; valid from the last change on.
  double work_at(double time) const;
  /// The time when this much is done: at the past rates and, from the last change on, at the
  /// present one.
  double time_of(double work) const;
  /// From `now` on, 0 < rate <= 1.
  void turn(double now, double rate);
  double rate() const { return turns_.back().rate; }

 private:
  struct Turn {
    double time, work, rate;
  };
  std::vector<Turn> turns_{{0, 0, 1}};
};

/// A host task computes on cores (Processor) while its bytes pass the memory, whose rate all tasks
/// share evenly. It ends when both are done.
class Host {
 public:
  /// The processors of a server. Cores 0 or a rate of 0: not given, and nothing may start there.
  /// Timers come back with the two tokens.
  Host(Interconnect& network, int cores, double memory_bytes_per_second, std::uint64_t cores_token,
       std::uint64_t memory_token);
  /// For a machine that is a device: its cores are also the kernels', and nobody issues on them
  /// (the cost of issuing was measured beside kernels).
  Host(Interconnect& network, Processor& device, int cores, double memory_bytes_per_second,
       std::uint64_t memory_token);

  bool has_cores() const { return cores_ > 0; }
  bool has_memory() const { return memory_bytes_per_second_ > 0; }
  /// Whether others than host tasks use its cores: issue, the network stack.
  bool issues() const { return own_ && has_cores(); }

  Processor& cores() { return own_ ? *own_ : *device_; }
  Processor& memory() { return memory_; }
  const HostClock& clock() const { return clock_; }

  /// Starts a task; returns how many times `token` comes back before it is over.
  int start(double seconds, int threads, double bytes, std::uint64_t token, Thread thread);
  /// Sets the clock to the rate of the cores; returns whether they became faster. Call it after
  /// work began or ended on the cores.
  bool follow(double now);

 private:
  std::optional<Processor> own_;
  Processor* device_ = nullptr;
  int cores_;
  double memory_bytes_per_second_;
  Processor memory_;
  HostClock clock_;
};

}  // namespace orrery::sim
