// The network as SimGrid simulates it.
#pragma once

#include <memory>

#include "sim/network/interconnect.hpp"

namespace orrery::sim {

/// Exact for one message (latency + bytes / rate) and max-min fair for many, whatever their
/// latencies.
///
/// Requires  one per process, ever: SimGrid's engine, clock and callbacks belong to the process
std::unique_ptr<Interconnect> make_simgrid_interconnect(const InterconnectPlan& plan);

}  // namespace orrery::sim
