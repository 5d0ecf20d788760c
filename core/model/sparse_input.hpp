// The model's input if its rows are kept without their zeros.
#pragma once

#include "core/ops/tensor.hpp"

namespace orrery {

/// A sparse matrix X of input rows on this rank's device.
///
/// Placement X, y: rows of this rank; w: on every rank
class SparseInput {
 public:
  virtual ~SparseInput() = default;
  /// y ← X·w + beta·y, for as many rows of X, from the first, as y has.
  ///
  /// Shapes    w [columns of X, f] · y [n, f]
  virtual void multiply(const Tensor& w, const Tensor& y, float beta) const = 0;
  /// dw ← Xᵀ·dy, the adjoint in w.
  ///
  /// Shapes    dy [n, f] · dw [columns of X, f]
  virtual void weight_gradient(const Tensor& dy, const Tensor& dw) const = 0;
};

}  // namespace orrery
