// A part that is trained alone.
#pragma once

#include <memory>

#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/product/structure.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery {

/// The matrices of a part for a model, or its edges if layers weigh them. Level 0 has all vertices
/// that the part holds. Level l has those that the own ones depend on from there on: within L − l
/// hops.
std::shared_ptr<const Structure> prepare_subgraph(std::shared_ptr<const Subgraph> part,
                                                  const ModelConfig& model);

/// A part made by prepare_subgraph(), on this rank. Nothing travels, except gradients if the
/// strategy averages them.
std::unique_ptr<RankProducts> load_subgraph(Runtime& rt, std::shared_ptr<const Structure> structure,
                                            const StrategyConfig& config);

}  // namespace orrery
