#include "core/strategy/structure/subgraphs.hpp"

#include <algorithm>
#include <numeric>

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
                    const Partition& partition, int hops, Degrees degrees)
      : data_(std::move(data)),
        model_(model),
        hops_(hops),
        members_(partition.members()),
        parts_(partition.parts),
        whole_(1) {
    if (degrees == Degrees::original)
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
    if (number >= parts()) return make({}, 0);
    return parts_.get(number, [&] { return make(members_[at(number)], hops_); });
  }

  std::shared_ptr<const Subgraph> whole() const override {
    return whole_.get(0, [&] {
      std::vector<Vertex> all(static_cast<std::size_t>(data_->vertices()));
      std::iota(all.begin(), all.end(), 0);
      return make(all, 0);
    });
  }

 private:
  using Shared = std::shared_ptr<const Subgraph>;

  Shared make(const std::vector<Vertex>& own, int hops) const {
    const Csr& graph = *data_->graph;
    return make_subgraph(data_, model_,
                         neighbourhood(graph, data_->symmetric ? graph : reverse_, own, hops),
                         lengths_);
  }

  std::shared_ptr<const Dataset> data_;
  ModelConfig model_;
  int hops_;
  std::vector<std::vector<Vertex>> members_;
  std::vector<std::int64_t> lengths_;  ///< of the rows of the whole A; empty with the part's own
  Csr reverse_;                        ///< of a directed graph
  OncePerRank<Shared> parts_, whole_;
};

}  // namespace

std::shared_ptr<const Subgraphs> subgraphs_in_memory(std::shared_ptr<const Dataset> data,
                                                     const ModelConfig& model,
                                                     const Partition& partition, int hops,
                                                     Degrees degrees) {
  return std::make_shared<const SubgraphsInMemory>(std::move(data), model, partition, hops,
                                                   degrees);
}

}  // namespace orrery
