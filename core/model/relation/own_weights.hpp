// The weights by which vertices of a typed graph multiply their own rows.
#pragma once

#include <vector>

#include "core/model/convolution.hpp"

namespace orrery {

/// Number of rows of all runs.
std::int64_t rows_count(const std::vector<Products::Rows>& runs);

/// One matrix for all vertices, or one for those of each type (ModelConfig::self_by_type).
///
/// Placement x, y: rows of this rank; weights: on every rank
class OwnWeights {
 public:
  OwnWeights(LayerContext& context, std::int64_t in, std::int64_t out, bool decays);

  /// y ← x·W_0.
  ///
  /// Shapes    x [inputs(layer), in] · y [rows(layer), out], of the first rows of x
  void forward(int layer, const Tensor& x, const Tensor& y) const;
  /// The weights' gradients ← this rank's part of the sum over ranks.
  ///
  /// Shapes    x as in forward() · dy [rows(layer), out]
  void set_gradients(int layer, const Tensor& x, const Tensor& dy) const;
  /// dx += dy·W_0ᵀ, in its first rows.
  ///
  /// Shapes    dy [rows(layer), out] · dx [inputs(layer), in]
  void backward(int layer, const Tensor& dy, const Tensor& dx) const;

 private:
  /// f(number of the weights, a run of rows that they multiply, whether it is their first). Each has one,
  /// which may be empty.
  template <class F>
  void for_each(int layer, const F& f) const;

  LayerContext& c_;
  std::vector<int> weights_;  ///< parameter numbers
};

}  // namespace orrery
