// The simulator as a process of its own: started when the first simulation is asked for, ended with
// this object.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "core/base/child_process.hpp"
#include "sim/replay/simulation.hpp"

namespace orrery {

class Simulator {
 public:
  /// `stop`: set by a signal, ends a simulation.
  explicit Simulator(const std::atomic<bool>* stop = nullptr) : stop_(stop) {}

  /// How far it is becomes part of what `what` tells.
  ///
  /// Errors    NotBuilt (this build has no simulator) · ConfigError, ProgramError's text as Error,
  ///           an Error that says with which signal the simulation ended, and one that says that it
  ///           was interrupted
  sim::Replay replay(const sim::Simulation& simulation, const std::string& what);

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }
  /// Waits for an answer, or until the run is to stop.
  void wait_for_answer() const;
  /// The simulator has ended, or is to: why there is no result.
  [[noreturn]] void give_up();

  const std::atomic<bool>* stop_;
  std::optional<ChildProcess> process_;
};

}  // namespace orrery
