// The simulator as a separate process: started for the first simulation, ended with this object.
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

  /// Its progress becomes part of what `what` shows.
  ///
  /// Errors    NotBuilt (this build has no simulator) · ConfigError, ProgramError's text as Error,
  ///           an Error that says with which signal the simulation ended, and one that says that it
  ///           was interrupted
  sim::Replay replay(const sim::Simulation& simulation, const std::string& what);

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }
  /// Waits for an answer, or until the run must stop.
  void wait_for_answer() const;
  /// Why there is no result: the simulator has ended, or must end.
  [[noreturn]] void give_up();

  const std::atomic<bool>* stop_;
  std::optional<ChildProcess> process_;
};

}  // namespace orrery
