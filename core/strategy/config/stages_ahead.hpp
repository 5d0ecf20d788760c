// How far ahead of the step that computes the next ones are made ready.
#pragma once

namespace orrery {

/// Capacities of the stages before a step. What is made ready is in one stage at a time; what a full stage
/// would take waits in the one before it, and the last stage takes first. 0: a stage does its work when
/// the next one asks for it; the last one when the step begins.
struct StagesAhead {
  int sample = 0;  ///< structures that are prepared, or being prepared, on the sampler lane
  int fetch = 0;   ///< whose rows are, or come, in host memory on the store lane
  int load = 1;    ///< on the device beside that of the step, or on their way on the copy lane
  /// Structures there are at most, with that of the step.
  int together() const { return sample + fetch + load + 1; }
};

}  // namespace orrery
