// Cases of the ops on the entries of a sparse pattern.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/patterns.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

Sddmm dots_on(World& w, Csr pattern, std::int64_t heads, std::int64_t columns, std::int64_t gap) {
  const std::int64_t width = heads * columns, rows = pattern.rows, cols = pattern.cols,
                     nnz = pattern.nnz();
  const Tensor x = w.floats(rows, width, width + gap), z = w.floats(cols, width, width + 2 * gap);
  return {w.sparse(std::move(pattern)), x, z, w.poisoned(nnz, heads)};
}

// Heads whose columns are less than a vector, one, two, four, and some that are not whole.
TEST_P(KernelCases, SampledDenseProductEqualsReference) {
  for (const auto& [heads, columns, gap] :
       pairs_of(std::array{1, 2, 3, 8, 17},
                std::array{1, 2, 4, 7, 8, 16, 31, 32, 64, 100, 256, 300}, std::array{0, 2, 3}))
    expect_equals_reference([&](World& w) -> Op {
      return dots_on(w, random_pattern(w.draw(), 90, 61, 40), heads, columns, gap);
    });
  for (const std::int64_t rows : kRows)
    expect_equals_reference([&](World& w) -> Op {
      return dots_on(w, random_pattern(w.draw(), rows, 61, 40), 8, 7, 0);
    });
}

// On a GPU rows of 5000 entries are ten pieces, of 513 two, of 512 none.
TEST_P(KernelCases, SampledDenseProductWithLongRowsEqualsReference) {
  for (const auto& [heads, length] : pairs_of(std::array{1, 4}, std::array{512, 513, 5000}))
    expect_equals_reference([&](World& w) -> Op {
      return dots_on(w, pattern_of_lengths({5, 7, 0, length, 0, 5, 1, 1200}, 97), heads, 31, 0);
    });
}

enum class Of { scores, ends, ends_and_edges };

struct SoftmaxOperands {
  SoftmaxOperands(World& w, Csr pattern, Of of, std::int64_t heads, std::int64_t gap)
      : rows(pattern.rows), nnz(pattern.nnz()) {
    const std::int64_t cols = pattern.cols;
    if (of != Of::scores)
      ends = EndScores{w.floats(rows, heads, heads + gap), w.floats(cols, heads, heads + 2 * gap)};
    if (of == Of::ends_and_edges) ends->own = w.floats(nnz, heads);
    a = w.sparse(std::move(pattern));
  }
  std::int64_t rows, nnz;
  Sparse a;
  std::optional<EndScores> ends;
};

EdgeSoftmax softmax_on(World& w, Csr pattern, Of of, std::int64_t heads, std::int64_t gap = 0) {
  const SoftmaxOperands o(w, std::move(pattern), of, heads, gap);
  const Tensor weights = w.result(of == Of::scores, o.nnz, heads);
  return {o.a, weights, o.ends, of == Of::scores ? 3.0F : 1.0F};
}

EdgeSoftmaxBackward softmax_backward_on(World& w, Csr pattern, Of of, std::int64_t heads,
                                        std::int64_t gap = 0) {
  const SoftmaxOperands o(w, std::move(pattern), of, heads, gap);
  const Tensor weights = w.floats(o.nnz, heads), gradient = w.floats(o.nnz, heads);
  std::optional<Tensor> dleft;
  if (o.ends) dleft = w.poisoned(o.rows, heads, heads + gap);
  return {o.a, weights, gradient, o.ends, dleft, of == Of::scores ? 0.3F : 1.0F};
}

/// Numbers of rows and heads: no rows, few, and with many heads more than one range of a CPU.
struct SoftmaxSize {
  std::int64_t rows, heads;
};
constexpr std::array<SoftmaxSize, 9> kSoftmaxSizes{
    {{0, 2}, {1, 1}, {5, 3}, {90, 1}, {20, 2}, {20, 4}, {20, 8}, {20, 16}, {333, 19}}};

TEST_P(KernelCases, SoftmaxOverEntriesOfRowsEqualsReference) {
  for (const auto& [size, of, gap] : pairs_of(
           kSoftmaxSizes, std::array{Of::scores, Of::ends, Of::ends_and_edges}, std::array{0, 3}))
    expect_equals_reference([&](World& w) -> Op {
      return softmax_on(w, random_pattern(w.draw(), size.rows, 61, 40), of, size.heads, gap);
    });
}

TEST_P(KernelCases, SoftmaxOverEntriesOfRowsBackwardEqualsReference) {
  for (const auto& [size, of, gap] : pairs_of(
           kSoftmaxSizes, std::array{Of::scores, Of::ends, Of::ends_and_edges}, std::array{0, 3}))
    expect_equals_reference(
        [&](World& w) -> Op {
          return softmax_backward_on(w, random_pattern(w.draw(), size.rows, 61, 40), of, size.heads,
                                     gap);
        },
        1e-4);
}

TEST_P(KernelCases, SoftmaxOverLongRowsEqualsReference) {
  for (const Of of : {Of::scores, Of::ends, Of::ends_and_edges}) {
    const auto pattern = [] { return pattern_of_lengths({5, 0, 40000, 3, 513}, 97); };
    expect_equals_reference([&](World& w) -> Op { return softmax_on(w, pattern(), of, 2); });
    expect_equals_reference(
        [&](World& w) -> Op { return softmax_backward_on(w, pattern(), of, 2); }, 2e-3);
  }
}

TEST_P(KernelCases, SoftmaxOfAnEmptyPatternHasNoSums) {
  for (const Of of : {Of::scores, Of::ends}) {
    const auto pattern = [] { return pattern_of_lengths({0, 0, 0}, 0); };
    expect_equals_reference([&](World& w) -> Op { return softmax_on(w, pattern(), of, 2); });
    expect_equals_reference(
        [&](World& w) -> Op { return softmax_backward_on(w, pattern(), of, 2); });
  }
}

// exp of them would be infinite, or 0/0.
TEST_P(KernelCases, SoftmaxOfScoresThatNoExponentialHoldsIsFinite) {
  World world;
  const Sparse a = world.sparse({2, 3, {0, 3, 5}, {0, 1, 2, 0, 2}});
  const Tensor weights = world.given(5, 1, {5000, 5000, 4000, -7000, -7001});

  ways_.front()(world, EdgeSoftmax{a, weights, {}});

  const auto got = world.values(weights);
  const float e = std::exp(-1.0F);
  const float expected[] = {0.5F, 0.5F, 0, 1 / (1 + e), e / (1 + e)};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

}  // namespace
}  // namespace orrery::testing
