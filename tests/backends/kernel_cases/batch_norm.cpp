// Cases of batch norm, forward and backward, and of the sums that it needs.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"

namespace orrery::testing {
namespace {

/// Σx, Σx² and the number of rows of a hundred rows, a little different for every column.
Tensor moments(World& w, std::int64_t width) {
  const Tensor t = w.poisoned(1, 2 * width + 1, 0, DType::f64);
  double* values = w.data<double>(t);
  for (std::int64_t c = 0; c < width; ++c) {
    const double mean = 0.01 * static_cast<double>(c % 7) - 0.02;
    values[c] = 100 * mean;
    values[width + c] = 100 * (0.25 + 0.01 * static_cast<double>(c % 5) + mean * mean);
  }
  values[2 * width] = 100;
  return t;
}
/// Means near zero, and variances, which are never negative.
Tensor averages(World& w, std::int64_t width) {
  const Tensor t = w.floats(2, width, width + 5);
  float* variances = w.data<float>(t) + t.ld;
  for (std::int64_t c = 0; c < width; ++c) variances[c] = 0.5F + variances[c] * variances[c];
  return t;
}

/// The two ways in which batch norm asks for them: squares in double, two matrices in single
/// precision.
TEST_P(KernelCases, ColumnMomentsEqualReference) {
  for (const bool same : kEither)
    for (const std::int64_t rows : {0, 5, 1001})
      for (const std::int64_t width : kWidths)
        expect_equals_reference([&](World& w) -> Op {
          const Tensor x = w.floats(rows, width, width + 3);
          const DType sums = same ? DType::f64 : DType::f32;
          const Tensor z = same ? x : w.floats(rows, width, width + 1);
          return ColumnMoments{x, z, w.poisoned(1, width, 0, sums), w.poisoned(1, width, 0, sums)};
        });
}

TEST_P(KernelCases, BatchNormEqualsReference) {
  enum class X { apart, normalised, y };
  for (const std::int64_t rows : kRows)
    for (const std::int64_t width : kWidths)
      for (const X x_is : {X::apart, X::normalised, X::y})
        expect_equals_reference([&](World& w) -> Op {
          const Tensor x = w.floats(rows, width, width + 3);
          const Tensor gain = w.floats(1, width), shift = w.floats(1, width);
          const Tensor normalised = x_is == X::normalised ? x : w.poisoned(rows, width, width + 1);
          const Tensor y = x_is == X::y ? x : w.poisoned(rows, width, width + 2);
          return BatchNorm{x, moments(w, width), averages(w, width), gain, shift, normalised, y};
        });
}

TEST_P(KernelCases, BatchNormByItsAveragesEqualsReference) {
  for (const std::int64_t rows : kRows)
    for (const std::int64_t width : kWidths)
      for (const bool in_place : kEither)
        expect_equals_reference([&](World& w) -> Op {
          const Tensor x = w.floats(rows, width, width + 3);
          const Tensor gain = w.floats(1, width), shift = w.floats(1, width);
          const Tensor y = in_place ? x : w.poisoned(rows, width, width + 2);
          return BatchNorm{x, {}, averages(w, width), gain, shift, {}, y};
        });
}

TEST_P(KernelCases, BatchNormBackwardEqualsReference) {
  for (const std::int64_t rows : kRows)
    for (const std::int64_t width : kWidths)
      for (const bool in_place : kEither)
        for (const std::int64_t counted : {rows / 2, rows})
          expect_equals_reference([&](World& w) -> Op {
            const Tensor dy = w.floats(rows, width, width + 3);
            const Tensor normalised = w.floats(rows, width, width + 1);
            const Tensor sums = w.floats(1, 2 * width), gain = w.floats(1, width);
            const Tensor dx = in_place ? dy : w.poisoned(rows, width, width + 2);
            return BatchNormBackward{dy, normalised, moments(w, width), sums, gain, dx, counted};
          });
}

}  // namespace
}  // namespace orrery::testing
