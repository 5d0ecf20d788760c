// Cases of fill and copy.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

constexpr std::array kTypes{DType::f32, DType::f64, DType::i32};
constexpr std::array kCopied{DType::f32, DType::f64, DType::i32, DType::f16};
constexpr std::array<std::int64_t, 3> kHeights{0, 1, 300};

TEST_P(KernelCases, FillOfEveryTypeEqualsReference) {
  for (const std::int64_t rows : kHeights)
    for (const auto& [type, gap] : pairs_of(kTypes, std::array{0, 7}))
      expect_equals_reference(
          [&](World& w) -> Op {
            return Fill{w.poisoned(rows, 101, 101 + gap, type), 3};
          },
          0);
}

TEST_P(KernelCases, CopyOfEveryTypeEqualsReference) {
  for (const std::int64_t rows : kHeights)
    for (const auto& [type, gap] : pairs_of(kCopied, std::array{0, 7}))
      expect_equals_reference(
          [&](World& w) -> Op {
            const Tensor x = w.poisoned(rows, 101, 105, type);
            std::memset(w.memory().bytes_at(x), 1,
                        static_cast<std::size_t>(rows * 105 * bytes_of(type)));
            return Copy{x, w.poisoned(rows, 101, 101 + gap, type)};
          },
          0);
}

TEST_P(KernelCases, ScaledAndSummedCopiesEqualReference) {
  for (const std::int64_t rows : kRows)
    for (const auto& [width, accumulate, scale] :
         pairs_of(kWidths, kEither, std::array{1.0F, 0.3F}))
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(rows, width, width + 4);
        return Copy{x, w.result(accumulate, rows, width, width + 8), scale, accumulate};
      });
}

}  // namespace
}  // namespace orrery::testing
