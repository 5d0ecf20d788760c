// Cases of the updates of parameters.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

/// None, one, few; more than a range of a CPU, and than many blocks of a GPU.
constexpr std::array<Shape, 7> kShapes{
    {{0, 17}, {1, 1}, {1, 64}, {77, 3}, {77, 17}, {500, 64}, {5000, 3}}};
constexpr std::array<std::int64_t, 2> kBetween{0, 3};

TEST_P(KernelCases, SgdEqualsReference) {
  for (const auto& [shape, gap] : pairs_of(kShapes, kBetween))
    expect_equals_reference([&](World& w) -> Op {
      const auto drawn = [&] { return w.floats(shape.rows, shape.cols, shape.cols + gap); };
      return Sgd{drawn(), drawn(), 0.1F, 0.01F};
    });
}

TEST_P(KernelCases, AdamEqualsReference) {
  for (const std::int64_t gap : kBetween)
    for (const auto& [shape, step] : pairs_of(kShapes, std::array{1, 7, 3000}))
      expect_equals_reference([&](World& w) -> Op {
        const auto drawn = [&] { return w.floats(shape.rows, shape.cols, shape.cols + gap); };
        const Tensor weights = drawn(), g = drawn(), m = drawn(), v = drawn();
        for (std::int64_t i = 0; i < shape.rows * v.ld; ++i)
          w.data<float>(v)[i] = std::abs(w.data<float>(v)[i]);
        return Adam{
            .w = weights, .g = g, .m = m, .v = v, .rate = 0.01F, .decay = 5e-4F, .step = step};
      });
}

}  // namespace
}  // namespace orrery::testing
