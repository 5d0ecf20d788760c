// Cases of layer norm, forward and backward.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"

namespace orrery::testing {
namespace {

/// A thousand narrow rows are more than one range of a CPU, as 333 wide ones are.
std::vector<std::tuple<std::int64_t, std::int64_t>> shapes() {
  std::vector<std::tuple<std::int64_t, std::int64_t>> list{{1001, 17}};
  for (const std::int64_t rows : kRows)
    for (const std::int64_t width : kWidths) list.emplace_back(rows, width);
  return list;
}

TEST_P(KernelCases, LayerNormEqualsReference) {
  enum class X { apart, normalised, y };
  for (const auto& [rows, width] : shapes())
    for (const X x_is : {X::apart, X::normalised, X::y})
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(rows, width, width + 3);
        const Tensor gain = w.floats(1, width), shift = w.floats(1, width);
        const Tensor normalised = x_is == X::normalised ? x : w.poisoned(rows, width, width + 1);
        const Tensor y = x_is == X::y ? x : w.poisoned(rows, width, width + 2);
        return LayerNorm{x, gain, shift, normalised, w.poisoned(rows, 1), y};
      });
}

TEST_P(KernelCases, LayerNormBackwardEqualsReference) {
  for (const auto& [rows, width] : shapes())
    for (const bool in_place : kEither)
      expect_equals_reference([&](World& w) -> Op {
        const Tensor dy = w.floats(rows, width, width + 3);
        const Tensor normalised = w.floats(rows, width, width + 1), rstd = w.floats(rows, 1);
        const Tensor gain = w.floats(1, width);
        const Tensor dx = in_place ? dy : w.poisoned(rows, width, width + 2);
        return LayerNormBackward{
            dy, normalised, rstd, gain, dx, w.poisoned(1, width), w.poisoned(1, width)};
      });
}

}  // namespace
}  // namespace orrery::testing
