// The products of one rank of an inference, whose tile is the rows of its part and its share of the
// columns.
//
// x·W as a ring: the M ranks of a part turn columns into rows, tile after tile, multiply each by the
// rows of W that it meets while the next one travels, and turn the result back. Or as a reduction:
// each multiplies its columns for all columns of the result, and all add up.
//
// A·x: the rows of other parts are fetched from the rank with the same columns. First go the
// numbers of the rows, then the rows come; numbers are two groups ahead and rows one ahead of the
// group that is multiplied, and the first of both travel while the part's own rows are multiplied. A
// row is in one group only, so it is fetched once.
//
// Source    Deal sections 3.4 (GEMM, SpMM) and 3.5 (partitioned communication, pipeline; Figures 7,
//           8, 11, 12)
// Departs   a group's rows are of one owner, and part p begins with part p + 1: what a rank sends at a
//           time is then bounded as what it receives is, and no rank is asked by all at once
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/inference/inference_config.hpp"
#include "core/inference/layer_graphs.hpp"
#include "core/model/products.hpp"
#include "core/runtime/buffer.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

/// Rows of a group of at most so many bytes, of matrices with `columns` columns; at least one.
/// `bytes` 0: as many as there are.
std::int64_t rows_that_fit(std::int64_t bytes, std::int64_t columns);

class TileProducts final : public Products {
 public:
  /// `column_tiles`: of the matrices on the device, for their caches.
  TileProducts(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config,
               int column_tiles);

  /// What one layer multiplies.
  struct LayerWidths {
    std::int64_t aggregated = 0;  ///< columns of what A is multiplied with; 0: nothing is
    std::int64_t in = 0, out = 0;
    bool operator==(const LayerWidths&) const = default;
  };
  /// Puts the layer's rows of A on the device and makes room for what travels; the numbers of the
  /// first two groups set out.
  void begin(int layer, const LayerWidths& widths);
  /// Gives it all back, but for what a next layer uses again.
  void end();

  /// Turns columns into rows: this rank's whole_rows() of the part with all columns.
  ///
  /// Shapes    x [rows(0), columns(width)] · y [whole rows of this rank, width]
  void whole_rows(const Tensor& x, const Tensor& y);

  /// use(whole) on this rank's whole rows of a matrix of this width, which are then put back: what needs
  /// whole rows, in place.
  ///
  /// Shapes    x [rows(0), columns(width)] · whole [whole rows of this rank, width]
  /// Requires  between end() and begin()
  void on_whole_rows(const Tensor& x, std::int64_t width,
                     const std::function<void(const Tensor& whole)>& use);

  std::int64_t rows(int level) const override;
  Columns columns(std::int64_t width) const override;
  Group covering_group() const override { return layout().column_group(rt_.rank()); }
  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override;
  void transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) override;

  // What only training asks for is not there: impossible here.
  Tensor row_ids() const override;
  void prepare(std::int64_t widest_aggregate, std::int64_t widest) override;
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override;

 private:
  struct FetchGroup {
    FetchRound round;
    std::int64_t first = 0;             ///< of the numbers that are asked for
    std::optional<LocalMatrix> matrix;  ///< none where nothing is asked for
    Buffer matrix_rows;                 ///< of the part, where the matrix has some of them alone
    std::optional<Event> numbers;       ///< have come; none where nothing is served
    std::optional<Event> rows;          ///< have come and gone
  };
  const TileLayout& layout() const { return graphs_.layout(); }
  int part() const { return layout().part_of(rt_.rank()); }
  int share() const { return layout().column_of(rt_.rank()); }
  Share whole_share(int m) const { return layout().whole_rows(part(), m); }

  void load_matrices(int layer, std::int64_t rows_per_group);
  void make_room(const LayerWidths& widths);
  void give_room_back();
  /// y ← y + A·x, of the rows and columns of group g.
  void multiply_group(std::size_t g, const Tensor& y);
  /// Numbers of group g set out, once their room is free.
  void send_numbers(std::size_t g, Event free);
  /// The rows that are asked for by group g of another part set out.
  Event send_rows(std::size_t g, const Tensor& x);

  /// use(tile, columns of share k) for every share of x, of this rank's whole rows; own one first.
  template <class Use>
  void turn(const Tensor& x, std::int64_t width, const Use& use);
  void ring(const Tensor& x, const Tensor& w, const Tensor& y, float beta);
  void turn_back(const Tensor& whole, const Tensor& y, float beta);
  void reduce(const Tensor& x, const Tensor& w, const Tensor& y, float beta);

  const LayerGraphs& graphs_;
  InferenceConfig config_;
  int column_tiles_;

  std::int64_t rows_per_group_ = 0;  ///< of the matrices that are there; 0: none are
  std::optional<LocalMatrix> local_;
  std::vector<FetchGroup> groups_;
  Buffer numbers_;          ///< of all rows that this rank asks for
  bool aggregated_ = true;  ///< the layer's one product with A is done, or there is none

  std::array<Buffer, 2> asked_, sent_, received_;  ///< numbers, and rows
  Buffer partial_;                                 ///< what a group adds to some rows of the part
  std::array<Buffer, 2> tile_in_, tile_out_;       ///< of the ring
  Buffer whole_;                                   ///< whole rows of a product, or partial sums
};

}  // namespace orrery
