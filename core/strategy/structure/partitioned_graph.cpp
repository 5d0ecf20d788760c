#include "core/strategy/structure/partitioned_graph.hpp"

#include <algorithm>
#include <mutex>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/adjacency.hpp"

namespace orrery {
namespace {

class GraphInMemory final : public PartitionedGraph {
 public:
  GraphInMemory(std::shared_ptr<const Dataset> data, const ModelConfig& model,
                const Partition& partition, const EdgeValues<float>* edge_weights)
      : data_(std::move(data)),
        owner_(partition.owner),
        row_at_owner_(partition.owner.size()),
        a_(edge_weights == nullptr
               ? normalised_adjacency(*data_, model)
               : weighted_adjacency(*data_, edge_weights->of_graph.values, model)) {
    if (by_relation(model))
      for (std::size_t r = 0; r < data_->typed->relations.size(); ++r) {
        const Csr& relation = *data_->typed->relations[r].graph;
        relations_.push_back(edge_weights == nullptr
                                 ? mean_adjacency(relation)
                                 : mean_adjacency(relation, edge_weights->of_relations[r].values));
      }
    for (auto& own : partition.members()) {
      sizes_.push_back(static_cast<std::int64_t>(own.size()));
      for (std::size_t i = 0; i < own.size(); ++i)
        row_at_owner_[at(own[i])] = static_cast<Vertex>(i);
      vertices_.push_back(std::make_shared<const std::vector<Vertex>>(std::move(own)));
    }
  }

  VertexData data(int part) const override {
    const VertexData here(data_, numbers(part));
    return data_->magnify == 1 ? here : here.magnified(here.vertices(), data_->magnify);
  }
  const std::vector<std::int64_t>& sizes() const override { return sizes_; }
  bool symmetric() const override { return a_.symmetric; }
  IndexList vertices(int part) const override {
    const IndexList here(numbers(part));
    return data_->magnify == 1 ? here : IndexList::counted(data_->magnify * here.size());
  }
  std::vector<SparseMatrix> rows(int part, Direction direction) const override {
    const bool forward = direction == Direction::forward || a_.symmetric;
    return cut_rows(forward ? a_ : adjoint(), *numbers(part), owner_, row_at_owner_, sizes_);
  }
  Relations relations(int part) const override {
    const std::vector<Vertex>& own = *numbers(part);
    const TypedGraph& typed = *data_->typed;
    Relations of_part{rows_of_types(typed, own), {}};
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      const auto type = typed.type(typed.relations[r].destination) - typed.types.data();
      const auto [first, count] = of_part.types[at(type)];
      of_part.relations.push_back(
          {static_cast<int>(type),
           cut_rows(relations_[r], std::span(own).subspan(at(first), at(count)), owner_,
                    row_at_owner_, sizes_)});
    }
    return of_part;
  }

 private:
  const std::shared_ptr<const std::vector<Vertex>>& numbers(int part) const {
    return vertices_[at(part)];
  }
  const SparseMatrix& adjoint() const {
    std::call_once(transposed_, [this] { adjoint_ = transpose(a_); });
    return adjoint_;
  }

  std::shared_ptr<const Dataset> data_;
  std::vector<std::int32_t> owner_;
  std::vector<Vertex> row_at_owner_;  ///< of each vertex
  SparseMatrix a_;
  std::vector<SparseMatrix> relations_;
  mutable std::once_flag transposed_;
  mutable SparseMatrix adjoint_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::shared_ptr<const std::vector<Vertex>>> vertices_;
};

}  // namespace

std::vector<Products::Rows> rows_of_types(const TypedGraph& typed,
                                          const std::vector<Vertex>& vertices) {
  std::vector<Products::Rows> rows;
  for (const VertexType& type : typed.types) {
    const auto first = std::ranges::lower_bound(vertices, type.first),
               last = std::ranges::lower_bound(vertices, type.first + type.count);
    rows.push_back({first - vertices.begin(), last - first});
  }
  return rows;
}

PartitionedGraph::Relations PartitionedGraph::relations(int) const {
  assertion_failed("relations of a graph that has none", __FILE__, __LINE__);
}

std::shared_ptr<const PartitionedGraph> partitioned_in_memory(
    std::shared_ptr<const Dataset> data, const ModelConfig& model, const Partition& partition,
    const EdgeValues<float>* edge_weights) {
  return std::make_shared<const GraphInMemory>(std::move(data), model, partition, edge_weights);
}

}  // namespace orrery
