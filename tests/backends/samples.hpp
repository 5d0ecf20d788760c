// Operands that the tests of several backends draw alike.
#pragma once

#include "tests/backends/world.hpp"

namespace orrery::testing {

/// A random pattern; row `rows / 2` is `longest` entries long, every third row is empty.
inline Csr random_pattern(Sequence& draw, std::int64_t rows, std::int64_t cols,
                          std::int64_t longest) {
  Csr a{rows, cols, {0}, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t wanted = r == rows / 2 ? longest : r % 3 == 0 ? 0 : 5;
    for (std::int64_t c = 0; c < cols; ++c)
      if (draw.below(static_cast<std::uint64_t>(cols)) < static_cast<std::uint64_t>(wanted))
        a.columns.push_back(static_cast<Vertex>(c));
    a.offsets.push_back(a.nnz());
  }
  return a;
}

/// Logits scaled to ±`spread`, labels and targets (about two rows of three) of a classification.
struct Classified {
  Tensor logits, labels, targets;
};

inline Classified classified(World& w, LossKind kind, std::int64_t rows, std::int64_t classes,
                             float spread) {
  const Tensor logits = w.floats(rows, classes, classes + 2);
  for (std::int64_t i = 0; i < rows * logits.ld; ++i) w.data<float>(logits)[i] *= spread;
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < rows; ++i)
    if (w.draw().below(3) != 0) targets.push_back(static_cast<std::int32_t>(i));
  const Tensor labels = w.poisoned(rows, kind == LossKind::softmax ? 1 : classes, 0, DType::i32);
  const std::int64_t below = kind == LossKind::softmax ? classes : 2;
  for (std::int64_t i = 0; i < labels.shape.size(); ++i)
    w.data<std::int32_t>(labels)[i] =
        static_cast<std::int32_t>(w.draw().below(static_cast<std::uint64_t>(below)));
  return {logits, labels, w.integers(targets)};
}

/// op(a) [m, k] · op(b) [k, n], all with gaps between their rows.
struct ProductSizes {
  std::int64_t m, n, k;
};
inline Gemm dense_product(World& w, const ProductSizes& size, bool transpose_a, bool transpose_b,
                          float beta) {
  const auto [m, n, k] = size;
  const Tensor a = transpose_a ? w.floats(k, m, m + 1) : w.floats(m, k, k + 1);
  const Tensor b = transpose_b ? w.floats(n, k, k + 2) : w.floats(k, n, n + 2);
  const Tensor c = beta == 0 ? w.poisoned(m, n, n + 3) : w.floats(m, n, n + 3);
  return {a, b, c, transpose_a, transpose_b, beta};
}

inline ColumnSum column_sum(World& w, std::int64_t rows, std::int64_t width, float beta) {
  const Tensor x = w.floats(rows, width, width + 2);
  return {x, beta == 0 ? w.poisoned(1, width) : w.floats(1, width), beta};
}

/// `aliased`: 1: normalised is x; 2: y is x.
inline LayerNorm layer_norm(World& w, std::int64_t rows, std::int64_t width, int aliased) {
  const Tensor x = w.floats(rows, width, width + 3);
  const Tensor gain = w.floats(1, width), shift = w.floats(1, width);
  const Tensor normalised = aliased == 1 ? x : w.poisoned(rows, width, width + 1);
  const Tensor y = aliased == 2 ? x : w.poisoned(rows, width, width + 2);
  return {x, gain, shift, normalised, w.poisoned(rows, 1), y};
}

/// `in_place`: dx is dy.
inline LayerNormBackward layer_norm_backward(World& w, std::int64_t rows, std::int64_t width,
                                             bool in_place) {
  const Tensor dy = w.floats(rows, width, width + 3);
  const Tensor normalised = w.floats(rows, width, width + 1), rstd = w.floats(rows, 1);
  const Tensor gain = w.floats(1, width);
  const Tensor dx = in_place ? dy : w.poisoned(rows, width, width + 2);
  return {dy, normalised, rstd, gain, dx, w.poisoned(1, width), w.poisoned(1, width)};
}

}  // namespace orrery::testing
