// Makes the strategy that a problem names.
#pragma once

#include <memory>

#include "core/strategy/strategy.hpp"

namespace orrery {

/// Makes the problem's strategy, after all checks that need no runtime.
///
/// Errors    ConfigError (settings the strategy cannot honour) · NeedsStructure (statistics, if
///           the strategy needs the graph)
std::unique_ptr<Strategy> make_strategy(const Problem& problem);

}  // namespace orrery
