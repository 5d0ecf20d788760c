// Shared by strategies whose ranks hold whole rows of the vertices of one part.
#pragma once

#include "core/runtime/buffer.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {

/// The rows of every level are the part's vertices.
///
/// Placement activations: whole rows, on the rank that owns their vertex's part
class RowsProducts : public RankProducts {
 public:
  VertexData data() const override { return data_; }
  IndexList vertices() const override { return own_; }
  std::int64_t rows(int) const override { return own_.size(); }
  Tensor row_ids() const override { return row_ids_.tensor(); }

 protected:
  RowsProducts(Runtime& rt, const PartitionedGraph& source, int part)
      : RowsProducts(rt, source.data(part), source.vertices(part)) {}
  RowsProducts(Runtime& rt, VertexData data, IndexList own)
      : RankProducts(rt),
        data_(std::move(data)),
        own_(std::move(own)),
        row_ids_(rt, {rows(0), 1}, DType::i32, "indices/vertices") {
    rt.submit(Lane::copy, Load{own_.source(), row_ids_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
  }

 private:
  VertexData data_;
  IndexList own_;
  Buffer row_ids_;
};

}  // namespace orrery
