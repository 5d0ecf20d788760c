// The network as SimGrid simulates it.
#pragma once

#include <memory>

#include "sim/network.hpp"

namespace orrery {

/// Exact for one message (latency + bytes / rate) and max-min fair for many, whatever their
/// latencies.
///
/// Requires  one per process, ever: SimGrid's engine, clock and callbacks belong to the process
std::unique_ptr<Network> make_simgrid_network(const NetworkPlan& plan);

}  // namespace orrery
