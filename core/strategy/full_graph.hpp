// The inexact ranks of full_graph: how rows of other ranks reach them.
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
  /// Share of the moving average of halo rows, and of the halo's gradients, that is kept in an
  /// epoch; 0: no average.
  double features = 0, gradients = 0;
};

/// Every epoch exchanges a random sample of the halo (BNS-GCN). Evaluation, and what is computed
/// once for all epochs, use all of it. The device holds one of the two at a time. `part` must
/// outlive the result; each of its vertices represents `magnify` ones.
std::unique_ptr<RankProducts> make_boundary_sampled(Runtime& rt, const PartitionedGraph& source,
                                                    const HaloStructure& part,
                                                    const StrategyConfig& config,
                                                    std::uint64_t seed, std::int64_t magnify);

/// Every epoch uses the halo rows and the halo's gradients of the epoch before, while its own
/// travel beside all of its computation. The first epoch, evaluation, and what is computed once for
/// all epochs are exact (PipeGCN; with StaleSmoothing PipeGCN-F, -G, -GF). `part` must outlive the
/// result.
std::unique_ptr<RankProducts> make_stale_halo(Runtime& rt, const PartitionedGraph& source,
                                              const HaloStructure& part,
                                              const StrategyConfig& config);

}  // namespace orrery
