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

}  // namespace orrery::testing
