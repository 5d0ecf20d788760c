// A part that is trained on without the others.
#pragma once

#include <memory>

#include "core/strategy/local_parts.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// A part on this rank, for a model of so many layers; nothing travels but, where the strategy
/// averages gradients, those. Level 0 has all vertices that the part holds, level l those that the
/// own ones depend on from there on: within L − l hops.
std::unique_ptr<Strategy> make_one_part(Runtime& rt, std::shared_ptr<const LocalPart> part,
                                        int layers, const StrategyConfig& config);

}  // namespace orrery
