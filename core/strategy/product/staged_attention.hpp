// Products of attention for blocks of rows that are broadcast in turn.
#pragma once

#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/edges/staged_edges.hpp"
#include "core/strategy/product/rows_products.hpp"

namespace orrery {

/// The edges of a part's rows; those from the blocks [first, last) in stages.
inline StagedEdgeStructure staged_edges_of(const PartitionedGraph& source, int part, int first,
                                           int last, const ModelConfig& model) {
  const auto blocks = source.rows(part, Direction::forward);
  if (model.attention_dropout == 0) return make_staged_edges(blocks, first, last, std::nullopt);
  const IndexList own = source.vertices(part);
  if (!own.known()) return make_staged_edges(blocks, first, last, EndVertices{});
  std::vector<Vertex> all;
  for (int other = 0; other < source.parts(); ++other) {
    const auto vertices = source.vertices(other).numbers();
    all.insert(all.end(), vertices->begin(), vertices->end());
  }
  return make_staged_edges(blocks, first, last, EndVertices{*own.numbers(), all});
}

class StagedAttention final : public RowsProducts {
 public:
  StagedAttention(Runtime& rt, const PartitionedGraph& source, int part,
                  const StagedEdgeStructure& structure, StagedLayout layout,
                  const ModelConfig& model)
      : RowsProducts(rt, source, part),
        blocks_(layout.blocks),
        edges_(rt, structure, std::move(layout), most_heads(model)) {}

  Group covering_group() const override { return blocks_; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    edges_.prepare(widest_aggregate);
  }
  std::int64_t sources(int) const override { return edges_.sources(); }
  const Edges& edges(int) const override { return edges_.edges(); }
  bool holds_sources() const override { return false; }
  void gather_for_sources(int, const Tensor& own, const Tensor& all) override {
    edges_.gather(own, all);
  }
  void sum_for_sources(int, const Tensor& all, const Tensor& own) override {
    edges_.sum_up(all, own);
  }
  void weigh_sources(int, const Tensor& weights, const Tensor& x, const Tensor& y) override {
    edges_.multiply(weights, x, y);
  }
  void weigh_sources_adjoint(int, const Tensor& weights, const Tensor& x, const Tensor& dy,
                             const Tensor& dweights, const Tensor& dx) override {
    edges_.multiply_adjoint(weights, x, dy, dweights, dx);
  }
  void aggregate(int, const Tensor&, const Tensor&, float) override { no_matrix(); }
  void aggregate_adjoint(int, const Tensor&, const Tensor&, float) override { no_matrix(); }

 private:
  Group blocks_;
  StagedEdges edges_;
};

}  // namespace orrery
