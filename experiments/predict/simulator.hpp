// The simulator as a process of its own: started when the first simulation is asked for, ended with
// this object.
#pragma once

#include <sys/types.h>

#include <string>

#include "sim/replay/simulation.hpp"

namespace orrery {

class Simulator {
 public:
  Simulator() = default;
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  /// Errors    NotBuilt (this build has no simulator) · ConfigError, ProgramError's text as Error,
  ///           and an Error that says with which signal the simulation ended
  sim::Replay replay(const sim::Simulation& simulation);

 private:
  void start();
  void stop();

  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
};

}  // namespace orrery
