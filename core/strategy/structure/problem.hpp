// What is trained: data, model, partition and strategy.
#pragma once

#include <memory>
#include <optional>

#include "core/graph/data_facts.hpp"
#include "core/model/model_config.hpp"
#include "core/partition/partition.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {

/// What is trained on: one of three.
struct ProblemData {
  std::shared_ptr<const Dataset> data;               ///< in memory as a whole, or
  std::shared_ptr<const PartitionedDataset> stored;  ///< in the parts of a folder, or
  std::optional<GraphStatistics> statistics;         ///< not there: counts alone are known
  /// What is evaluated on, where that is another graph: the whole one, whose training vertices are
  /// those of this one (training_graph.hpp).
  std::shared_ptr<const ProblemData> whole = nullptr;
  /// What is learned and predicted where that is links, in the place of labels.
  std::shared_ptr<const LinkTask> links = nullptr;
  /// Of the entries of data->graph, finite and >= 0; null: all edges count alike.
  std::shared_ptr<const std::vector<float>> edge_weights = nullptr;

  /// Of what is trained on. Of links the classes are the columns of the last layer.
  DataFacts facts() const;
};

/// Everything an experiment fixes before the first operation: structure and settings, the same on
/// all ranks.
struct Problem : ProblemData {
  ModelConfig model;
  TrainConfig train;
  StrategyConfig strategy;
  /// As many parts as parts_for(strategy, ranks). Of data that is stored it counts the parts only;
  /// of statistics it counts equal blocks of a random permutation.
  Partition partition;
  Partition whole_partition{};  ///< of `whole`, where that is evaluated on: as many parts

  int ranks() const { return ranks_for(strategy, partition.parts); }
};

/// Where the problem's strategies get the structure of parts from.
std::shared_ptr<const PartitionedGraph> partitioned_graph(const Problem& problem);

}  // namespace orrery
