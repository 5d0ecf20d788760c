// What is trained: data, model, partition and strategy.
#pragma once

#include <memory>
#include <optional>

#include "core/graph/data_facts.hpp"
#include "core/model/model_config.hpp"
#include "core/partition/partition.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"
#include "core/strategy/structure/strategy_config.hpp"

namespace orrery {

/// Everything an experiment fixes before the first operation: structure and settings, the same on
/// all ranks.
struct Problem {
  // The graph: in memory as a whole; or in parts, of which `partition` only counts; or not at all,
  // where `partition` counts equal blocks of a random permutation.
  std::shared_ptr<const Dataset> data;
  std::shared_ptr<const PartitionedDataset> stored;
  std::optional<GraphStatistics> statistics;
  ModelConfig model;
  TrainConfig train;
  StrategyConfig strategy;
  Partition partition;  ///< as many parts as parts_for(strategy, ranks)

  DataFacts facts() const {
    if (statistics) return facts_of(*statistics);
    return stored ? stored->facts() : facts_of(*data);
  }
  int ranks() const { return ranks_for(strategy, partition.parts); }
};

/// Where the problem's strategies get the structure of parts from.
std::shared_ptr<const PartitionedGraph> partitioned_graph(const Problem& problem);

}  // namespace orrery
