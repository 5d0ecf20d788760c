// The products of one rank of an inference, whose tile is the rows of its part and its share of the
// columns.
//
// x·W as a ring: the M ranks of a part turn columns into rows, tile after tile, multiply each by
// the matching rows of W while the next one travels, and turn the result back. Or as a reduction:
// each rank multiplies its columns for all columns of the result, and all add up.
//
// A·x is a TileSum. TileAttention computes the weights of edges.
//
// Source    Deal section 3.4 (GEMM, Figure 7)
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "core/inference/located_rows.hpp"
#include "core/inference/tile_sum.hpp"
#include "core/model/products.hpp"
#include "core/runtime/buffer.hpp"

namespace orrery {

/// The products of one rank.
///
/// Placement activations: a tile on each rank, the rows of its part and its share of the columns;
///           weights: on every rank
class TileProducts final : public Products {
 public:
  /// `column_tiles`: of the matrices on the device, for their caches.
  TileProducts(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config,
               int column_tiles);

  /// The products of one layer.
  struct LayerWidths {
    std::int64_t aggregated = 0;  ///< columns of the matrix that A is multiplied by; 0: none
    std::int64_t in = 0, out = 0;
    bool operator==(const LayerWidths&) const = default;
  };
  /// After this, products with input->placeholder() take the rows in place; null: that tensor no
  /// longer exists. `sums_first`: the one A·x of its layer is with it.
  void begin_with(LocatedRows* input, bool sums_first) {
    input_ = input;
    sums_input_ = input != nullptr && sums_first;
  }

  /// Puts the layer's rows of A on the device and makes room for the data that travels; starts the
  /// transfers that need no rows of x.
  void begin(int layer, const LayerWidths& widths);
  /// Gives it all back, except what a next layer uses again.
  void end();

  /// Turns columns into rows: this rank's whole_rows() of the part with all columns.
  ///
  /// Shapes    x [rows(0), columns(width)] · y [whole rows of this rank, width]
  void whole_rows(const Tensor& x, const Tensor& y);

  /// Calls use(whole) on this rank's whole rows of a matrix of this width, and then puts them back:
  /// for in-place work on whole rows.
  ///
  /// Shapes    x [rows(0), columns(width)] · whole [whole rows of this rank, width]
  /// Requires  between end() and begin()
  void on_whole_rows(const Tensor& x, std::int64_t width,
                     const std::function<void(const Tensor& whole)>& use);

  std::int64_t rows(int level) const override;
  Columns columns(std::int64_t width) const override;
  Group covering_group() const override { return layout().column_group(rt_.rank()); }
  /// Aliasing  y may be x, and for transform() begin where x begins, with InferenceConfig::sum_columns
  ///           and beta 0
  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override;
  void transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) override;

  // Only training calls this: impossible here.
  Tensor row_ids() const override;
  void prepare(std::int64_t widest_aggregate, std::int64_t widest) override;
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override;

 private:
  const TileLayout& layout() const { return graphs_.layout(); }
  int part() const { return layout().part_of(rt_.rank()); }
  int share() const { return layout().column_of(rt_.rank()); }
  Share whole_share(int m) const { return layout().whole_rows(part(), m); }

  /// x ← A·x, by InferenceConfig::sum_columns columns at a time.
  void aggregate_in_place(const Tensor& x);
  /// y ← x·w, where y is in the memory of x.
  void transform_in_place(const Tensor& x, const Tensor& w, const Tensor& y);
  void make_room(const LayerWidths& widths);
  void give_room_back();

  /// Calls use(tile, columns of share k) for every share of x, of this rank's whole rows; its own
  /// share first.
  template <class Use>
  void turn(const Tensor& x, std::int64_t width, const Use& use);
  void ring(const Tensor& x, const Tensor& w, const Tensor& y, float beta);
  void turn_back(const Tensor& whole, const Tensor& y, float beta);
  void reduce(const Tensor& x, const Tensor& w, const Tensor& y, float beta);

  const LayerGraphs& graphs_;
  InferenceConfig config_;
  std::unique_ptr<TileSum> sum_;
  LocatedRows* input_ = nullptr;  ///< rows that are not a tile yet
  bool sums_input_ = false;

  std::array<Buffer, 2> tile_in_, tile_out_;  ///< of the ring
  Buffer whole_;                              ///< whole rows of a product, or partial sums
  Buffer piece_, block_;                      ///< of a sum, of a product in place
};

}  // namespace orrery
