#include "core/strategy/structure/subgraphs.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/partition/neighbourhood.hpp"
#include "core/strategy/structure/once_per_rank.hpp"

namespace orrery {

std::int64_t Subgraph::at_distance(int d) const {
  return within[std::min(static_cast<std::size_t>(d), within.size() - 1)];
}

std::shared_ptr<const Subgraph> make_subgraph(std::shared_ptr<const Dataset> data,
                                              const ModelConfig& model, Neighbourhood held,
                                              std::span<const std::int64_t> lengths) {
  const auto vertices = std::make_shared<const std::vector<Vertex>>(std::move(held.vertices));
  std::vector<std::int64_t> of_rows;
  if (lengths.empty())
    of_rows = row_lengths(held.graph, weighting_of(model, data->symmetric));
  else
    for (const Vertex v : *vertices) of_rows.push_back(lengths[at(v)]);
  return std::make_shared<const Subgraph>(
      Subgraph{vertices, std::move(held.within),
               normalised_adjacency(held.graph, data->symmetric, model, of_rows),
               VertexData(data, vertices)});
}

namespace {

class SubgraphsInMemory final : public Subgraphs {
 public:
  SubgraphsInMemory(std::shared_ptr<const Dataset> data, const ModelConfig& model,
                    Partition partition, const StrategyConfig& strategy, std::uint64_t seed)
      : data_(std::move(data)),
        model_(model),
        hops_(strategy.hops),
        cross_edges_(strategy.cross_edges),
        seed_(seed),
        partition_(std::move(partition)),
        members_(partition_.members()),
        parts_(partition_.parts),
        whole_(1) {
    ORRERY_ASSERT(cross_edges_ != CrossEdges::as_cut || partition_.fragments);
    if (strategy.degrees == Degrees::original)
      lengths_ = row_lengths(*data_->graph, weighting_of(model, data_->symmetric));
    if (!data_->symmetric) reverse_ = transpose(*data_->graph);
  }

  int parts() const override { return static_cast<int>(members_.size()); }

  std::int64_t training_vertices(int part) const override {
    const auto& own = members_[at(part)];
    return std::count_if(own.begin(), own.end(),
                         [&](Vertex v) { return data_->split[at(v)] == Split::train; });
  }

  std::shared_ptr<const Subgraph> part(int number) const override {
    if (number >= parts()) return make(around({}, 0));
    return parts_.get(number, [&] { return make(held_by(number)); });
  }

  std::shared_ptr<const Subgraph> whole() const override {
    return whole_.get(0, [&] {
      std::vector<Vertex> all(static_cast<std::size_t>(data_->vertices()));
      std::iota(all.begin(), all.end(), 0);
      return make(around(all, 0));
    });
  }

 private:
  using Shared = std::shared_ptr<const Subgraph>;

  Shared make(Neighbourhood held) const {
    return make_subgraph(data_, model_, std::move(held), lengths_);
  }

  const Csr& graph() const { return *data_->graph; }
  const Csr& reverse() const { return data_->symmetric ? *data_->graph : reverse_; }

  Neighbourhood around(const std::vector<Vertex>& own, int hops) const {
    return neighbourhood(graph(), reverse(), own, hops);
  }
  Neighbourhood held_by(int part) const {
    const std::vector<Vertex>& own = members_[at(part)];
    switch (cross_edges_) {
      case CrossEdges::drop:
        break;
      case CrossEdges::one_side:
        return neighbourhood_of_edges(
            own, one_sided_edges(graph(), reverse(), own, partition_.owner, seed_));
      case CrossEdges::as_cut:
        return neighbourhood_of_edges(own, (*partition_.fragments)[at(part)]);
    }
    return around(own, hops_);
  }

  std::shared_ptr<const Dataset> data_;
  ModelConfig model_;
  int hops_;
  CrossEdges cross_edges_;
  std::uint64_t seed_;
  Partition partition_;
  std::vector<std::vector<Vertex>> members_;
  std::vector<std::int64_t> lengths_;  ///< row lengths of the whole A; empty: the part's own
  Csr reverse_;                        ///< set for a directed graph
  OncePerRank<Shared> parts_, whole_;
};

}  // namespace

std::shared_ptr<const Subgraphs> subgraphs_in_memory(std::shared_ptr<const Dataset> data,
                                                     const ModelConfig& model, Partition partition,
                                                     const StrategyConfig& strategy,
                                                     std::uint64_t seed) {
  return std::make_shared<const SubgraphsInMemory>(std::move(data), model, std::move(partition),
                                                   strategy, seed);
}

}  // namespace orrery
