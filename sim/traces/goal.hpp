// Traces as GOAL schedules, which LogGOPSim, ATLAHS and htsim read.
#pragma once

#include <string>

#include "sim/traces/execution_trace.hpp"

namespace orrery::sim {

/// A trace as text for txt2bin. Computation is in nanoseconds; lanes are the rank's cpus, so that they
/// go on side by side. GOAL has no collectives: all must be messages.
///
/// Units     calc: ns, rounded; send, recv: bytes
std::string goal_text(const ExecutionTrace& trace);

}  // namespace orrery::sim
