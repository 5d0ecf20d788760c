// The network by our own solver: many times as fast as SimGrid, which it is held to.
#pragma once

#include <memory>

#include "sim/network/interconnect.hpp"

namespace orrery::sim {

/// Exact for one message (latency + bytes / rate) and max-min fair for many, whatever their
/// latencies. Any number may live in one process. `plan` has to outlive it.
std::unique_ptr<Interconnect> make_fluid_interconnect(const InterconnectPlan& plan);

}  // namespace orrery::sim
