// Weights by which vertices of a typed graph multiply their own rows.
#pragma once

#include <string>
#include <vector>

#include "core/model/convolution.hpp"

namespace orrery {

/// Number of rows of all runs.
std::int64_t rows_count(const std::vector<Products::Rows>& runs);

/// One matrix for all vertices, or one for those of each type.
///
/// Placement x, y: rows of this rank; weights: on every rank
class OwnWeights {
 public:
  /// `name`: of the parameters, before the name of a type.
  OwnWeights(LayerContext& context, std::int64_t in, std::int64_t out, bool decays, bool by_type,
             const std::string& name);

  /// y ← x·W of the rows of a level: of a layer's output, or of the model's input (0).
  ///
  /// Shapes    x [at least rows(level), in] · y [rows(level), out], of the first rows of x
  void forward(int level, const Tensor& x, const Tensor& y) const;
  /// The weights' gradients ← this rank's part of the sum over ranks.
  ///
  /// Shapes    x as in forward() · dy [rows(level), out]
  void set_gradients(int level, const Tensor& x, const Tensor& dy) const;
  /// dx ← dy·Wᵀ + beta·dx, in its first rows.
  ///
  /// Shapes    dy [rows(level), out] · dx [at least rows(level), in]
  void backward(int level, const Tensor& dy, const Tensor& dx, float beta) const;

 private:
  /// f(number of the weights, a run of rows that they multiply, whether it is their first). Each has one,
  /// which may be empty.
  template <class F>
  void for_each(int level, const F& f) const;

  LayerContext& c_;
  bool by_type_;
  std::vector<int> weights_;  ///< parameter numbers
};

}  // namespace orrery
