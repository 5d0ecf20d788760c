// How many steps ahead structures are made ready.
#pragma once

namespace orrery {

/// Capacities of the stages before a step. A structure is in one stage at a time. If a stage is
/// full, the next structure waits in the stage before; the last stage takes first. 0: a stage works
/// when the next one asks for it, the last stage when the step begins.
struct StagesAhead {
  /// Structures that are prepared, or being prepared, on the sampler lane.
  int sample = 0;
  /// Structures whose rows are in host memory, or on their way there, on the store lane.
  int fetch = 0;
  /// Structures on the device, or on their way there on the copy lane, besides that of the step.
  int load = 1;
  /// Largest number of structures at a time, with that of the step.
  int together() const { return sample + fetch + load + 1; }
};

}  // namespace orrery
