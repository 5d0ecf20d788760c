// A·x with A cut by columns as well: each rank of a part multiplies its share of the columns of A
// by whole rows of x, and all add up their results.
//
// Source    Deal section 3.4, "2D-based SPMM", Figure 9 and Table 2
#pragma once

#include <optional>
#include <vector>

#include "core/inference/tile_sum.hpp"
#include "core/inference/whole_rows.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

/// Requires  graphs with RowLists::of_column_slice
class SlicedGraph final : public TileSum {
 public:
  SlicedGraph(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config,
              int column_tiles)
      : rt_(rt),
        graphs_(graphs),
        column_tiles_(column_tiles),
        rows_(rt, graphs, config.group_bytes) {}

  void begin(int layer, std::int64_t width, std::int64_t own) override;
  void set_out() override {
    if (width_ > 0) rows_.set_out();
  }
  void multiply(const Tensor& x, const Tensor& y, float beta) override;
  void end() override;

 private:
  Runtime& rt_;
  const LayerGraphs& graphs_;
  int column_tiles_;
  WholeRows rows_;
  std::vector<LocalMatrix> blocks_;  ///< by group
  std::int64_t width_ = 0;
  Buffer partial_;  ///< the part's rows, share of the columns after share
  Buffer sum_;
};

}  // namespace orrery
