// The simulator as a process of its own: started when the first simulation is asked for, ended with
// this object.
#pragma once

#include <optional>

#include "core/base/child_process.hpp"
#include "sim/replay/simulation.hpp"

namespace orrery {

class Simulator {
 public:
  /// Errors    NotBuilt (this build has no simulator) · ConfigError, ProgramError's text as Error,
  ///           and an Error that says with which signal the simulation ended
  sim::Replay replay(const sim::Simulation& simulation);

 private:
  std::optional<ChildProcess> process_;
};

}  // namespace orrery
