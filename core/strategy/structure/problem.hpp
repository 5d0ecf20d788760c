// The training problem: data, model, partition and strategy.
#pragma once

#include <memory>
#include <optional>

#include "core/graph/data_facts.hpp"
#include "core/graph/edges/edge_features.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/model/model_config.hpp"
#include "core/partition/partition.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {

/// The training graph: one of three.
struct ProblemData {
  std::shared_ptr<const Dataset> data;               ///< in memory as a whole, or
  std::shared_ptr<const PartitionedDataset> stored;  ///< in the parts of a folder, or
  std::optional<GraphStatistics> statistics;         ///< only its counts are known
  /// The graph of evaluations if it is another one: the whole graph, whose training vertices are
  /// those of this one (training_graph.hpp).
  std::shared_ptr<const ProblemData> whole = nullptr;
  /// The links that are learned and predicted in the place of labels; null: labels.
  std::shared_ptr<const LinkTask> links = nullptr;
  EdgeWeights edge_weights = nullptr;  ///< of the edges of `data`; null: all count alike
  /// Features of the edges of `data`; null: they have none.
  std::shared_ptr<const EdgeFeatures> edge_features = nullptr;

  /// Facts about the data that is trained on. For links, the classes are the columns of the last
  /// layer.
  DataFacts facts() const;
  /// Types and relations of the data that is trained on, of parts without edges; null if it has none.
  const TypedGraph* typed() const;
};

/// Everything an experiment fixes before the first operation: structure and settings, the same on
/// all ranks.
struct Problem : ProblemData {
  ModelConfig model;
  TrainConfig train;
  StrategyConfig strategy;
  /// It has parts_for(strategy, ranks) parts. For stored data it has only the number of parts; for
  /// statistics only the number of equal blocks of a random permutation.
  Partition partition;
  Partition whole_partition{};  ///< partition of `whole`, if evaluations use it: as many parts

  int ranks() const { return ranks_for(strategy, partition.parts); }
};

/// Whether the features of each of these vertices are learned.
///
/// Requires  data in memory, features that are learned
/// Errors    ConfigError: learned types that the data does not have
std::vector<bool> learned_vertices(const Problem& problem, const std::vector<Vertex>& vertices);

/// Where the problem's strategies get the structure of parts.
std::shared_ptr<const PartitionedGraph> partitioned_graph(const Problem& problem);

}  // namespace orrery
