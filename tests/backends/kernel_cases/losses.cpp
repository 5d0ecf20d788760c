// Cases of loss and score.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

/// Logits scaled to ±`spread`, labels and targets (about two rows of three) of a classification.
struct Classified {
  Tensor logits, labels, targets;
};

Classified classified(World& w, LossKind kind, std::int64_t rows, std::int64_t classes,
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

constexpr std::array kKinds{LossKind::softmax, LossKind::sigmoid};
constexpr std::array<std::int64_t, 6> kClasses{1, 2, 7, 33, 60, 600};
constexpr std::array kSpreads{1.0F, 120.0F};

TEST_P(KernelCases, LossEqualsReference) {
  for (const std::int64_t rows : {0, 1, 5, 90, 501})
    for (const auto& [kind, classes, spread, in_place, weight, accumulate] :
         pairs_of(kKinds, kClasses, kSpreads, kEither, std::array{1.0, 0.5}, kEither))
      expect_equals_reference([&](World& w) -> Op {
        const auto [logits, labels, targets] = classified(w, kind, rows, classes, spread);
        const Tensor grad = in_place ? logits : w.poisoned(rows, classes, classes + 1);
        const Tensor loss = w.poisoned(1, 1, 0, DType::f64);
        if (accumulate) *w.data<double>(loss) = 3;
        return Loss{kind, logits, labels, targets, grad, loss, 0.01, weight, accumulate};
      });
}

TEST_P(KernelCases, LossOfWeightedTargetsEqualsReference) {
  for (const LossKind kind : kKinds)
    for (const bool in_place : kEither)
      expect_equals_reference([&](World& w) -> Op {
        const auto [logits, labels, targets] = classified(w, kind, 501, 7, 1);
        const Tensor grad = in_place ? logits : w.poisoned(501, 7, 8);
        Loss op{kind, logits, labels, targets, grad, w.poisoned(1, 1, 0, DType::f64), 0.01};
        op.target_weights = w.floats(targets.rows(), 1);
        return op;
      });
}

TEST_P(KernelCases, LossOfThousandsOfRowsEqualsReference) {
  expect_equals_reference([](World& w) -> Op {
    const auto [logits, labels, targets] = classified(w, LossKind::softmax, 6000, 5, 1);
    const Tensor loss = w.poisoned(1, 1, 0, DType::f64);
    return Loss{LossKind::softmax, logits, labels, targets, logits, loss};
  });
}

TEST_P(KernelCases, ScoreEqualsReferenceExactly) {
  for (const std::int64_t rows : {0, 1, 5, 700})
    for (const auto& [kind, classes, spread, accumulate] :
         pairs_of(kKinds, kClasses, kSpreads, kEither))
      expect_equals_reference(
          [&](World& w) -> Op {
            const auto [logits, labels, targets] = classified(w, kind, rows, classes, spread);
            const Tensor counts = w.poisoned(1, 3, 0, DType::f64);
            if (accumulate) std::fill_n(w.data<double>(counts), 3, 2.0);
            return Score{kind, logits, labels, targets, counts, accumulate};
          },
          0);
}

TEST_P(KernelCases, ScoreTakesTheFirstOfEqualLogits) {
  expect_equals_reference(
      [](World& w) -> Op {
        const Tensor logits = w.floats(4, 70);
        std::fill_n(w.data<float>(logits), logits.shape.size(), -1.0F);
        w.data<float>(logits)[69] = w.data<float>(logits)[40] = 2;  // of row 0
        const Tensor labels = w.integers({40, 0, 69, 1}), targets = w.integers({0, 1, 2, 3});
        return Score{LossKind::softmax, logits, labels, targets, w.poisoned(1, 3, 0, DType::f64)};
      },
      0);
}

}  // namespace
}  // namespace orrery::testing
