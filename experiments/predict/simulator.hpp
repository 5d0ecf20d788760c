// The simulator as a separate process: started for the first simulation, ended with this object.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "sim/replay/simulation.hpp"

namespace orrery {

/// The simulator ended, or could not be reached, before it had a result: that says nothing about what
/// was to be simulated.
class SimulatorFailed : public Error {
  using Error::Error;
};

class Simulator {
 public:
  /// `stop`: set by a signal, ends a simulation.
  explicit Simulator(const std::atomic<bool>* stop = nullptr) : stop_(stop) {}

  /// Starts the program, unless it runs already.
  ///
  /// Errors    NotBuilt (this build has no simulator)
  void start();
  /// Its progress becomes part of what `what` shows.
  ///
  /// Errors    NotBuilt · ConfigError · SimulatorFailed, with ProgramError's text, with the signal
  ///           that ended the simulation, or because it was interrupted
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
