// Parts that are trained on alone, from a folder: each is read when it is first asked for.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery {
namespace {

using Shared = std::shared_ptr<const Subgraph>;

/// 0, 1, 2, ...
std::shared_ptr<const std::vector<Vertex>> first_vertices(std::int64_t count) {
  std::vector<Vertex> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return std::make_shared<const std::vector<Vertex>>(std::move(numbers));
}

class SubgraphsInFolder final : public Subgraphs {
 public:
  SubgraphsInFolder(std::shared_ptr<const PartitionedDataset> folder, const ModelConfig& model,
                    Degrees degrees)
      : folder_(std::move(folder)),
        model_(model),
        degrees_(degrees),
        weighting_(weighting_of(model, folder_->facts().symmetric)),
        parts_(parts()) {}

  int parts() const override { return static_cast<int>(folder_->sizes().size()); }

  std::int64_t training_vertices(int part) const override { return folder_->training()[at(part)]; }

  Shared part(int number) const override {
    if (number >= parts()) return empty();
    return parts_.get(number, [&] { return make(folder_->read(number)); });
  }

  Shared whole() const override { throw whole_graph_is_missing(); }

  static ConfigError whole_graph_is_missing() {
    return {"strategy.evaluate_on",
            "\"graph\" needs the whole graph, but each rank reads only its own part of the "
            "folder: set it to \"parts\""};
  }

 private:
  Shared make(const StoredPart& stored) const {
    const Csr& graph = *stored.local->graph;
    std::vector<std::int64_t> lengths;
    if (degrees_ == Degrees::part)
      lengths = row_lengths(graph, weighting_);
    else
      for (const std::int32_t d : stored.degrees) lengths.push_back(d + (weighting_.loops ? 1 : 0));
    auto vertices = std::make_shared<std::vector<Vertex>>(*stored.vertices);
    vertices->insert(vertices->end(), stored.replicas.begin(), stored.replicas.end());
    return std::make_shared<const Subgraph>(
        Subgraph{std::move(vertices), within(stored),
                 normalised_adjacency(graph, folder_->facts().symmetric, model_, lengths),
                 VertexData(stored.local, first_vertices(graph.rows))});
  }

  /// Replicas are stored by distance.
  std::vector<std::int64_t> within(const StoredPart& stored) const {
    std::vector<std::int64_t> counts;
    for (int d = 0; d <= folder_->farthest(); ++d)
      counts.push_back(stored.owned +
                       std::count_if(stored.replica_distance.begin(), stored.replica_distance.end(),
                                     [d](std::int32_t distance) { return distance <= d; }));
    return counts;
  }

  /// For a rank that has no part left.
  Shared empty() const {
    const DataFacts& facts = folder_->facts();
    auto data = std::make_shared<Dataset>();
    data->graph = std::make_shared<const Csr>();
    data->features = random_features(0, facts.features, 0);
    data->labels.classes = facts.classes;
    data->labels.multilabel = facts.multilabel;
    return std::make_shared<const Subgraph>(
        Subgraph{first_vertices(0),
                 {0},
                 normalised_adjacency(*data->graph, facts.symmetric, model_, {}),
                 VertexData(data, first_vertices(0))});
  }

  std::shared_ptr<const PartitionedDataset> folder_;
  ModelConfig model_;
  Degrees degrees_;
  Weighting weighting_;
  OncePerRank<Shared> parts_;
};

}  // namespace

std::shared_ptr<const Subgraphs> subgraphs_in_folder(
    std::shared_ptr<const PartitionedDataset> folder, const ModelConfig& model,
    const StrategyConfig& strategy) {
  if (strategy.hops != folder->hops())
    throw ConfigError(
        "strategy.hops",
        fmt::format("found {}, but the parts were written with {}: set it to that, or "
                    "write them again with partition.hops {}",
                    strategy.hops, folder->hops(), strategy.hops));
  const CrossEdges there = folder->one_sided() ? CrossEdges::one_side : CrossEdges::drop;
  if (strategy.cross_edges != there)
    throw ConfigError(
        "strategy.cross_edges",
        fmt::format("the parts were written with {}, so set it to that; orrery partition writes "
                    "\"one_side\" parts (partition.cross_edges), and \"as_cut\" needs a graph "
                    "that is cut when a run begins",
                    folder->one_sided() ? "\"one_side\"" : "\"drop\""));
  if (strategy.evaluate_on == EvaluateOn::graph) throw SubgraphsInFolder::whole_graph_is_missing();
  return std::make_shared<const SubgraphsInFolder>(std::move(folder), model, strategy.degrees);
}

}  // namespace orrery
