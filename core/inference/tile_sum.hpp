// A·x on the tiles of an inference: the product for which rows of other parts, or A itself, must
// travel. One file for each way.
#pragma once

#include <cstdint>
#include <memory>

#include "core/inference/layer_graphs.hpp"
#include "core/inference/layout/inference_config.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

/// The product of one rank. All ranks of the layout make the same calls in the same order.
///
/// Placement x, y: a tile on each rank, the rows of its part and its share of the columns
class TileSum {
 public:
  virtual ~TileSum() = default;
  /// Puts the layer's rows of A on the device, and makes room for the travelling rows of a matrix
  /// with `width` columns over all ranks, `own` of them on this rank.
  virtual void begin(int layer, std::int64_t width, std::int64_t own) = 0;
  /// Starts the transfers that need no row of x.
  virtual void set_out() {}
  /// y ← A·x + beta·y, once after each set_out(), with at most `own` columns.
  ///
  /// Shapes    x [rows of the part, columns of this rank] · y alike
  virtual void multiply(const Tensor& x, const Tensor& y, float beta) = 0;
  /// Gives back the room for travelling data, and A, except what a next layer uses again.
  virtual void end() = 0;
};

/// InferenceConfig::spmm chooses the class. `column_tiles`: the number of column tiles of the
/// matrices on the device, for their caches.
std::unique_ptr<TileSum> make_tile_sum(Runtime& rt, const LayerGraphs& graphs,
                                       const InferenceConfig& config, int column_tiles);

}  // namespace orrery
