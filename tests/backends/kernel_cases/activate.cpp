// Cases of bias, activation and dropout.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

constexpr std::array kActivations{Activation::none, Activation::relu, Activation::elu};

TEST_P(KernelCases, ActivateEqualsReference) {
  constexpr std::array kDropouts{-1.0, 0.0, 0.3, 0.999999};  // negative: none
  for (const std::int64_t rows : kRows)
    for (const auto& [width, p, activation, biased, in_place, gap] :
         pairs_of(kWidths, kDropouts, kActivations, kEither, kEither, kGaps))
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(rows, width, width + 4);
        std::optional<Tensor> bias;
        if (biased) bias = w.floats(1, width);
        std::optional<Dropout> dropout;
        if (p >= 0) dropout = Dropout{p, 0x123456789ABCDEF, 5, 3, w.indices(rows, 1 << 30), 16};
        const Tensor y = in_place ? x : w.poisoned(rows, width, width + 2 * gap);
        return Activate{x, bias, y, activation, dropout};
      });
}

TEST_P(KernelCases, ActivateOfWindowsThatBeginAnywhereEqualsReference) {
  for (const auto& [first, width] : pairs_of(std::array{1, 2, 4}, std::array{1, 6, 32}))
    expect_equals_reference([&](World& w) -> Op {
      const Tensor x = w.floats(20, 48).cols_at(first, width);
      const Tensor y = w.floats(25, 60).cols_at(first, width).rows_at(3, 20);
      return Activate{x, {}, y, Activation::none, {}};
    });
}

// From where eˣ − 1 is −x's opposite to the last digit to where it is −1.
TEST_P(KernelCases, EluOfNumbersOfAnySizeEqualsReference) {
  expect_equals_reference([](World& w) -> Op {
    std::vector<float> values{0, -0.0F, 1e30F, -1e30F, -87, -88, -104};
    for (float x = 1e-9F; x < 100; x *= 1.7F) values.insert(values.end(), {x, -x});
    const auto count = static_cast<std::int64_t>(values.size());
    return Activate{w.given(1, count, values), {}, w.poisoned(1, count), Activation::elu, {}};
  });
}

// With p = 1/2 and x = 1 the result is the mask itself, times two.
TEST_P(KernelCases, DropoutMasksHaveTheBitsOfTheReference) {
  for (const auto& [width, col0] : pairs_of(kWidths, std::array{0, 8, 800}))
    expect_equals_reference(
        [&](World& w) -> Op {
          const Tensor x = w.floats(200, width);
          std::fill_n(w.data<float>(x), x.shape.size(), 1.0F);
          const Dropout dropout{0.5, 1U << 31U, 700, 4095, w.indices(200, 1 << 30), col0};
          return Activate{x, {}, w.poisoned(200, width), Activation::none, dropout};
        },
        0);
}

TEST_P(KernelCases, DropoutOfSparseFeaturesEqualsReference) {
  expect_equals_reference([](World& w) -> Op {
    const Tensor x = w.floats(300, 133);
    for (std::int64_t i = 0; i < x.shape.size(); ++i)
      if (w.draw().below(100) != 0) w.data<float>(x)[i] = 0;
    const Tensor y = w.poisoned(300, 133);
    return Activate{x, {}, y, Activation::none, Dropout{0.5, 1, 1, 0, w.indices(300, 3000), 0}};
  });
}

TEST_P(KernelCases, ActivateBackwardEqualsReference) {
  enum class Dx { apart, dy, y };
  for (const std::int64_t rows : kRows)
    for (const auto& [width, activation, p, dx_is, gap] :
         pairs_of(kWidths, kActivations, std::array{-1.0, 0.3},
                  std::array{Dx::apart, Dx::dy, Dx::y}, kGaps))
      expect_equals_reference([&](World& w) -> Op {
        const Tensor dy = w.floats(rows, width, width + 4);
        std::optional<Tensor> y;
        if (activation != Activation::none) y = w.floats(rows, width, width + gap);
        std::optional<Dropout> dropout;
        if (p >= 0) dropout = Dropout{p, 99, 5, 3, w.indices(rows, 1 << 30), 0};
        const Tensor apart = w.poisoned(rows, width, width + 2 * gap);
        const Tensor dx = dx_is == Dx::apart ? apart : dx_is == Dx::dy || !y ? dy : *y;
        return ActivateBackward{dy, y, dx, activation, dropout};
      });
}

}  // namespace
}  // namespace orrery::testing
