// Cases of rows that are moved, and of sums over rows.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

TEST_P(KernelCases, GatherEqualsReference) {
  for (const std::int64_t rows : kRows)
    for (const auto& [width, gap] : pairs_of(kWidths, kGaps))
      expect_equals_reference(
          [&](World& w) -> Op {
            const Tensor x = w.floats(19, width, width + gap), index = w.indices(rows, 19);
            return GatherRows{x, index, w.poisoned(rows, width, width + 2 * gap)};
          },
          0);
}

TEST_P(KernelCases, GatherOfHalvesMakesThemFloats) {
  for (const std::int64_t rows : kRows)
    for (const auto& [width, gap] : pairs_of(kWidths, kGaps))
      expect_equals_reference(
          [&](World& w) -> Op {
            const Tensor x = w.halves(19, width, width + gap), index = w.indices(rows, 19);
            return GatherRows{x, index, w.poisoned(rows, width, width + 2 * gap)};
          },
          0);
}

TEST_P(KernelCases, ScatterAddOfRepeatedIndicesSumsInTheOrderOfRows) {
  for (const std::int64_t rows : kRows)
    for (const auto& [width, gap] : pairs_of(kWidths, kGaps))
      expect_equals_reference(
          [&](World& w) -> Op {
            const Tensor x = w.floats(rows, width, width + gap), index = w.indices(rows, 19);
            return ScatterAddRows{x, index, w.floats(19, width, width + 2 * gap)};
          },
          0);
}

TEST_P(KernelCases, GatherAndScatterAddOfManyRowsEqualReference) {
  expect_equals_reference(
      [](World& w) -> Op {
        const Tensor x = w.floats(999, 40), index = w.indices(5000, 999);
        return GatherRows{x, index, w.poisoned(5000, 40)};
      },
      0);
  expect_equals_reference(
      [](World& w) -> Op {
        const Tensor x = w.floats(5000, 40), index = w.indices(5000, 999);
        return ScatterAddRows{x, index, w.floats(999, 40)};
      },
      0);
}

TEST_P(KernelCases, GatherOfWindowsThatBeginAnywhereEqualsReference) {
  for (const auto& [first, width] : pairs_of(std::array{1, 2, 4}, std::array{1, 6, 32}))
    expect_equals_reference(
        [&](World& w) -> Op {
          const Tensor x = w.floats(20, 48).cols_at(first, width), index = w.indices(9, 20);
          return GatherRows{x, index, w.floats(9, 60).cols_at(first, width)};
        },
        0);
}

// Sums are cut into pieces of 64 rows: of more from 4097 rows on a CPU, from 32769 on a GPU.
TEST_P(KernelCases, ColumnSumEqualsReference) {
  for (const std::int64_t rows : {0, 1, 63, 64, 65, 333, 4501})
    for (const auto& [width, beta] : pairs_of(kWidths, std::array{0.0F, 0.5F}))
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(rows, width, width + 2);
        return ColumnSum{x, w.result(beta != 0, 1, width), beta};
      });
}

TEST_P(KernelCases, ColumnSumOfVeryManyRowsEqualsReference) {
  expect_equals_reference(
      [](World& w) -> Op {
        return ColumnSum{w.floats(40000, 3), w.poisoned(1, 3), 0};
      },
      1e-6);
}

}  // namespace
}  // namespace orrery::testing
