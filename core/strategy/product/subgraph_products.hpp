// A part that is trained on without the others.
#pragma once

#include <memory>

#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery {

/// A part on this rank, for a model of so many layers; nothing travels but, where the strategy
/// averages gradients, those. Level 0 has all vertices that the part holds, level l those that the
/// own ones depend on from there on: within L − l hops.
std::unique_ptr<RankProducts> make_subgraph_products(Runtime& rt,
                                                     std::shared_ptr<const Subgraph> part,
                                                     int layers, const StrategyConfig& config);

}  // namespace orrery
