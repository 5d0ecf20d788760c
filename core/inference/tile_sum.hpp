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
class TileSum {
 public:
  virtual ~TileSum() = default;
  /// Puts the layer's rows of A on the device, and makes room for what travels of a matrix that has
  /// `width` columns over all ranks, of which `own` are on this one.
  virtual void begin(int layer, std::int64_t width, std::int64_t own) = 0;
  /// What needs no row of x sets out.
  virtual void set_out() {}
  /// y ← A·x + beta·y, once after each begin().
  ///
  /// Shapes    x [rows of the part, columns of this rank] · y alike
  virtual void multiply(const Tensor& x, const Tensor& y, float beta) = 0;
  /// Gives back the room for what travels, and A but for what a next layer uses again.
  virtual void end() = 0;
};

/// By InferenceConfig::spmm. `column_tiles`: of the matrices on the device, for their caches.
std::unique_ptr<TileSum> make_tile_sum(Runtime& rt, const LayerGraphs& graphs,
                                       const InferenceConfig& config, int column_tiles);

}  // namespace orrery
