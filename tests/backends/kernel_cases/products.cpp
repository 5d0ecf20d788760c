// Cases of the sparse-dense and of the dense product.
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/patterns.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

// Gaps of none, two, three and four: rows begin where packs of four, two and one float may.
TEST_P(KernelCases, SparseProductEqualsReference) {
  for (const std::int64_t rows : kRows)
    for (const auto& [width, gap, beta, valued] :
         pairs_of(kWidths, std::array{0, 2, 3, 4}, kBetas, kEither))
      expect_equals_reference([&](World& w) -> Op {
        return product_of(w, random_pattern(w.draw(), rows, 61, 40), {width, valued, beta, gap});
      });
}

TEST_P(KernelCases, SparseProductOfWindowsThatBeginAnywhereEqualsReference) {
  for (const std::int64_t first : {1, 2, 4})
    expect_equals_reference([&](World& w) -> Op {
      const Tensor x = w.floats(61, 80).cols_at(first, 64);
      const Tensor y = w.floats(95, 80).cols_at(first, 64).rows_at(3, 90);
      return SpMM{w.sparse(random_pattern(w.draw(), 90, 61, 40)), {}, x, y, 0};
    });
}

// On a GPU rows of 5000 entries are ten pieces, of 513 two, of 512 none.
TEST_P(KernelCases, SparseProductWithLongRowsEqualsReference) {
  for (const auto& [width, length, beta] :
       pairs_of(std::array{1, 30, 257, 602}, std::array{512, 513, 5000}, std::array{0.0F, 0.5F}))
    expect_equals_reference(
        [&](World& w) -> Op {
          return product_of(w, pattern_of_lengths({5, 7, 0, length, 0, 5, 1}, 97),
                            {width, true, beta});
        },
        1e-4);
}

TEST_P(KernelCases, SparseProductOfRmatPatternsEqualsReference) {
  for (const std::int64_t width : {16, 41})
    expect_equals_reference(
        [&](World& w) -> Op {
          return product_of(w, rmat_pattern(w.draw(), 20000), {width, true, 0});
        },
        1e-4);
}

TEST_P(KernelCases, SparseProductOfAnEmptyPatternScalesTheOutput) {
  for (const float beta : kBetas)
    expect_equals_reference([&](World& w) -> Op {
      return product_of(w, pattern_of_lengths({0, 0, 0, 0}, 0), {24, false, beta});
    });
}

// Heads whose columns are less than a vector or a pack, one, several, and more than a pass over the
// edges takes; numbers of heads that are no powers of two.
TEST_P(KernelCases, SparseProductWithHeadsEqualsReference) {
  for (const auto& [heads, columns, gap, beta] :
       pairs_of(std::array{2, 3, 8, 17}, std::array{1, 2, 4, 7, 8, 16, 31, 32, 300},
                std::array{0, 2, 4}, kBetas))
    expect_equals_reference([&](World& w) -> Op {
      return product_of(w, random_pattern(w.draw(), 90, 61, 40),
                        {heads * columns, true, beta, gap, heads});
    });
  for (const std::int64_t rows : kRows)
    expect_equals_reference([&](World& w) -> Op {
      return product_of(w, random_pattern(w.draw(), rows, 61, 40), {56, true, 0.5F, 0, 8});
    });
}

TEST_P(KernelCases, SparseProductWithHeadsOnLongRowsEqualsReference) {
  for (const auto& [columns, length, beta] :
       pairs_of(std::array{1, 7, 32}, std::array{512, 513, 5000}, std::array{0.0F, 0.5F}))
    expect_equals_reference(
        [&](World& w) -> Op {
          return product_of(w, pattern_of_lengths({5, 7, 0, length, 0, 5, 1}, 97),
                            {8 * columns, true, beta, 0, 8});
        },
        1e-4);
}

TEST_P(KernelCases, SparseProductWithHeadsOfAnEmptyPatternScalesTheOutput) {
  for (const float beta : kBetas)
    expect_equals_reference([&](World& w) -> Op {
      return product_of(w, pattern_of_lengths({0, 0, 0, 0}, 0), {24, true, beta, 0, 3});
    });
}

// The sums of a column are taken in the same order whatever stands beside it.
TEST_P(KernelCases, SparseProductWithHeadsHasTheBitsOfOneProductForEachHead) {
  for (const auto& [heads, columns, beta] :
       pairs_of(std::array{2, 3, 8}, std::array{1, 7, 32, 300}, kBetas)) {
    World together;
    const SpMM op = product_of(together, random_pattern(together.draw(), 90, 61, 40),
                               {heads * columns, true, beta, 0, heads});
    World apart = together;
    std::vector<SpMM> each;
    for (int head = 0; head < heads; ++head) {
      std::vector<float> values;
      for (std::int64_t e = 0; e < op.a.nnz; ++e)
        values.push_back(together.data<float>(*op.values)[e * heads + head]);
      each.push_back({op.a, apart.given(op.a.nnz, 1, values), op.x.cols_at(head * columns, columns),
                      op.y.cols_at(head * columns, columns), beta});
    }

    ways_.front()(together, op);
    for (const SpMM& product : each) ways_.front()(apart, product);

    const auto got = together.values(op.y), expected = apart.values(op.y);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], expected[i]) << to_string(Op(op)) << " at " << i;
  }
}

/// op(a) [m, k] · op(b) [k, n], all with gaps between their rows.
struct ProductSizes {
  std::int64_t m, n, k;
};

TEST_P(KernelCases, DenseProductEqualsReference) {
  constexpr std::array<ProductSizes, 13> kSizes{{{0, 3, 4},
                                                 {3, 0, 4},
                                                 {3, 4, 0},
                                                 {1, 1, 1},
                                                 {1, 17, 5},
                                                 {5, 1, 9},
                                                 {17, 33, 5},
                                                 {33, 17, 100},
                                                 {64, 100, 33},
                                                 {128, 257, 64},
                                                 {13, 9, 5003},
                                                 {3001, 64, 100},
                                                 {2048, 37, 18}}};
  for (const ProductSizes& size : kSizes)
    for (const auto& [transpose_a, transpose_b, beta] : pairs_of(kEither, kEither, kBetas))
      expect_equals_reference(
          [&](World& w) -> Op {
            const auto [m, n, k] = size;
            const Tensor a = transpose_a ? w.floats(k, m, m + 1) : w.floats(m, k, k + 1);
            const Tensor b = transpose_b ? w.floats(n, k, k + 2) : w.floats(k, n, n + 2);
            return Gemm{a, b, w.result(beta != 0, m, n, n + 3), transpose_a, transpose_b, beta};
          },
          1e-4);
}

}  // namespace
}  // namespace orrery::testing
