// A part that is trained on without the others.
#pragma once

#include <memory>

#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/product/structure.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery {

/// The matrices of a part for a model, or its edges where layers weigh them. Level 0 has all
/// vertices that the part holds, level l those that the own ones depend on from there on: within L − l
/// hops.
std::shared_ptr<const Structure> prepare_subgraph(std::shared_ptr<const Subgraph> part,
                                                  const ModelConfig& model);

/// A part, as prepare_subgraph() made it, on this rank; nothing travels but, where the strategy
/// averages gradients, those.
std::unique_ptr<RankProducts> load_subgraph(Runtime& rt, std::shared_ptr<const Structure> structure,
                                            const StrategyConfig& config);

}  // namespace orrery
