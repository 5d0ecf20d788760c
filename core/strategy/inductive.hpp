// Inductive training: on the graph that the training vertices induce, evaluated on the whole one.
#pragma once

#include <memory>

#include "core/strategy/strategy.hpp"

namespace orrery {

/// The problem's strategy on both graphs: steps work on the training graph, evaluations on
/// Problem::whole, with the same settings and ranks. Only one of the two is on the device at a
/// time.
///
/// Requires  problem.whole
/// Errors    those of make_strategy on either graph · ConfigError if staleness keeps rows on the
///           device that an evaluation would remove
std::unique_ptr<Strategy> make_inductive(const Problem& problem);

}  // namespace orrery
