// Ranks of full_graph that are not exact: how the rows of other ranks come to each of them.
#pragma once

#include <memory>

#include "core/strategy/config/strategy_config.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/boundary_sample.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {

/// Settings of full_graph with staleness (StrategyConfig::own).
struct StaleSmoothing {
  /// Of halo rows, and of the halo's gradients: how much of their moving average is kept in an
  /// epoch; 0: none is made.
  double features = 0, gradients = 0;
};

/// Every epoch exchanges a random sample of the halo; evaluation, and what is computed once for all
/// epochs, all of it (BNS-GCN). The device holds the one or the other. `part` outlives the result;
/// each of its vertices stands for `magnify` ones.
std::unique_ptr<RankProducts> make_boundary_sampled(Runtime& rt, const PartitionedGraph& source,
                                                    const HaloStructure& part,
                                                    const StrategyConfig& config,
                                                    std::uint64_t seed, std::int64_t magnify);

/// Every epoch uses the halo rows, and the halo's gradients, of the epoch before, while its own
/// travel beside all of its computation; the first one, evaluation and what is computed once for
/// all epochs are exact (PipeGCN; with StaleSmoothing PipeGCN-F, -G, -GF). `part` outlives the
/// result.
std::unique_ptr<RankProducts> make_stale_halo(Runtime& rt, const PartitionedGraph& source,
                                              const HaloStructure& part,
                                              const StrategyConfig& config);

}  // namespace orrery
