// Ops on the entries of a sparse pattern, each of which stands for an edge: numbers for every edge
// and head, made of what stands at its two ends or of those of the other edges of its row. With
// SpMM, whose values may have heads, they are what graph attention is made of.
//
// Dropout of edges is no op of its own: Activate drops elements of [nnz, heads] by the number of
// each edge, as it drops those of activations by the number of each vertex.
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

/// Scores of edges out of a number for each end: left of the row's vertex, right of the column's.
///
/// Shapes    left [n, h] · right [m, h]
struct EndScores {
  Tensor left, right;
  float slope = 0.2F;  ///< of the leaky ReLU below 0
};

/// weights[e, k] ← exp(s(e, k)) / Σ exp(s(e', k)) over the entries e' of row(e): a softmax over the
/// entries of each row, by heads. The scores s are scale·(what weights holds), or, with ends,
/// leaky(left[row(e), k] + right[col(e), k]), where leaky(u) is u above 0 and slope·u below. A row
/// without entries has no weights.
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
/// row), that at the scores from that at the weights. With ends it is that at left + right, and
/// dleft ← its sums over the entries of each row; those over columns, of dright, are a product with
/// the transposed pattern.
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
