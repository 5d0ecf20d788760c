// Inductive training: on the graph that the training vertices induce, evaluated on the whole one.
#pragma once

#include <memory>

#include "core/strategy/strategy.hpp"

namespace orrery {

/// The problem's strategy on both graphs: its steps are those on what is trained on, its
/// evaluations those on Problem::whole, with the same settings and ranks. Only one of the two is on
/// the device.
///
/// Requires  problem.whole
/// Errors    those of make_strategy on either graph · ConfigError where staleness keeps rows on the
///           device that an evaluation would take off
std::unique_ptr<Strategy> make_inductive(const Problem& problem);

}  // namespace orrery
