// Ops on the entries of a sparse pattern. An entry represents an edge. The ops compute numbers for
// every edge and head, from what is at its two ends or from the other edges of its row. Graph
// attention consists of these ops and of SpMM, whose values may have heads.
//
// Dropout of edges is no separate op: Activate drops elements of [nnz, heads] by the number of each
// edge, as it drops those of activations by the number of each vertex.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/ops/operands.hpp"
#include "core/ops/tensor.hpp"

namespace orrery {

/// dots[e, k] ← Σ x[row(e), c]·z[col(e), c] over the columns c of head k, for every entry e of a:
/// the sampled dense-dense product. With x = dy it is the adjoint of SpMM in its values.
///
/// Shapes    a [n, m] sparse · x [n, f] · z [m, f] · dots [nnz, h], contiguous, h divides f: head k
///           has the columns [k·f/h, (k+1)·f/h)
/// Aliasing  x and z may be the same window
/// Cost      2·nnz·f FLOP; nnz·(4 + 4·h) + 8·n + (n + m)·f·4 bytes (each row of z read once: a lower
///           bound)
struct Sddmm {
  Sparse a;
  Tensor x, z, dots;
  static constexpr std::string_view kKind = "sddmm";
  std::int64_t heads() const { return dots.cols(); }
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// Scores of edges from a number at each end, left at the row's vertex and right at the column's, and
/// perhaps one of the edge's own.
///
/// Shapes    left [n, h] · right [m, h] · own [nnz, h], contiguous
struct EndScores {
  Tensor left, right;
  float slope = 0.2F;  ///< of the leaky ReLU below 0
  std::optional<Tensor> own{};
};

/// weights[e, k] ← exp(s(e, k)) / Σ exp(s(e', k)) over the entries e' of row(e): a softmax over the
/// entries of each row, by heads. The scores s are scale·(what weights holds), or, with ends,
/// leaky(left[row(e), k] + right[col(e), k] + own[e, k]), where leaky(u) is u above 0 and slope·u below.
/// A row without entries has no weights.
///
/// Shapes    a [n, m] sparse · weights [nnz, h], contiguous
/// Source    Veličković et al. 2018, eq. 3, whose a·[Wh_i || Wh_j] is left + right; largest scores
///           are taken off first, as usual
struct EdgeSoftmax {
  Sparse a;
  Tensor weights;
  std::optional<EndScores> ends;
  float scale = 1;  ///< 1 with ends
  static constexpr std::string_view kKind = "edge_softmax";
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// Adjoint of EdgeSoftmax: gradient ← scale·weights ∘ (gradient − Σ weights ∘ gradient over the
/// row). It turns the gradient at the weights into that at the scores. With ends it is the gradient
/// at left + right + own, and dleft ← its sums over the entries of each row. The sums over columns,
/// dright, are a product with the transposed pattern.
///
/// Shapes    as EdgeSoftmax; gradient [nnz, h], contiguous · dleft [n, h], with ends and only there
struct EdgeSoftmaxBackward {
  Sparse a;
  Tensor weights, gradient;
  std::optional<EndScores> ends;
  std::optional<Tensor> dleft;
  float scale = 1;
  static constexpr std::string_view kKind = "edge_softmax_backward";
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

}  // namespace orrery
