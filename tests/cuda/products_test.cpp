// The products of the CUDA library against the reference: ours and cuSPARSE's, and cuBLAS's.
#include "tests/cuda/kernels_test.hpp"

namespace orrery::testing {
namespace {

class CudaProducts : public CudaKernels {};

constexpr OrrerySpmmBy kBy[] = {kOrrerySpmmChosen, kOrrerySpmmOwn, kOrrerySpmmCusparse,
                                kOrrerySpmmCusparseRepeatable};

TEST_P(CudaProducts, SparseProductEqualsReferenceForEveryWidthAndAlignment) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 5, 90})
      for (const std::int64_t gap : {0, 2, 3, 4})
        for (const float beta : {0.0F, 0.5F})
          expect_equals_reference(
              [&](World& w) -> Op {
                Csr pattern = random_pattern(w.draw(), rows, 61, 40);
                const Tensor values = w.floats(pattern.nnz(), 1);
                const Tensor x = w.floats(61, width, width + gap);
                const Tensor y = beta == 0 ? w.poisoned(rows, width, width + gap)
                                           : w.floats(rows, width, width + gap);
                return SpMM{w.sparse(std::move(pattern)), values, x, y, beta};
              },
              1e-5, {.by = kOrrerySpmmOwn});
}

TEST_P(CudaProducts, SparseProductEqualsReferenceByEveryWay) {
  for (const OrrerySpmmBy by : kBy)
    for (const std::int64_t width : {1, 17, 64})
      for (const float beta : {0.0F, 1.0F, 0.5F})
        for (const bool valued : {false, true})
          expect_equals_reference(
              [&](World& w) -> Op {
                Csr pattern = random_pattern(w.draw(), 60, 61, 40);
                std::optional<Tensor> values;
                if (valued) values = w.floats(pattern.nnz(), 1);
                const Tensor x = w.floats(61, width, width + 3);
                const Tensor y =
                    beta == 0 ? w.poisoned(60, width, width + 5) : w.floats(60, width, width + 5);
                return SpMM{w.sparse(std::move(pattern)), values, x, y, beta};
              },
              1e-5, {.by = by});
}

TEST_P(CudaProducts, SparseProductOfWindowsThatBeginAnywhereEqualsReference) {
  for (const std::int64_t first : {1, 2, 4})
    expect_equals_reference(
        [&](World& w) -> Op {
          const Tensor x = w.floats(61, 80).cols_at(first, 64);
          const Tensor y = w.floats(95, 80).cols_at(first, 64).rows_at(3, 90);
          return SpMM{w.sparse(random_pattern(w.draw(), 90, 61, 40)), {}, x, y, 0};
        },
        1e-5, {.by = kOrrerySpmmOwn});
}

// Rows of 5000 entries are ten pieces, of 513 two, of 512 none.
TEST_P(CudaProducts, SparseProductWithLongRowsEqualsReference) {
  for (const std::int64_t width : {1, 30, 602})
    for (const std::int64_t length : {512, 513, 5000})
      for (const float beta : {0.0F, 0.5F})
        expect_equals_reference(
            [&](World& w) -> Op {
              Csr pattern{3, 6000, {0}, {}};
              for (const std::int64_t entries : {std::int64_t{7}, length, std::int64_t{0}}) {
                for (std::int64_t e = 0; e < entries; ++e)
                  pattern.columns.push_back(static_cast<Vertex>(e * 6000 / entries));
                pattern.offsets.push_back(pattern.nnz());
              }
              const Tensor values = w.floats(pattern.nnz(), 1);
              const Tensor x = w.floats(6000, width), y = w.floats(3, width);
              return SpMM{w.sparse(std::move(pattern)), values, x, y, beta};
            },
            1e-4, {.by = kOrrerySpmmOwn});
}

/// The entries of an R-MAT draw on 2^10 vertices, sorted, without duplicates.
Csr rmat_pattern(Sequence& draw, std::int64_t entries) {
  std::vector<std::pair<Vertex, Vertex>> edges;
  for (std::int64_t e = 0; e < entries; ++e) {
    Vertex row = 0, col = 0;
    for (int bit = 0; bit < 10; ++bit) {
      const double u = draw.uniform();
      row = 2 * row + (u >= 0.76 ? 1 : 0);
      col = 2 * col + ((u >= 0.57 && u < 0.76) || u >= 0.95 ? 1 : 0);
    }
    edges.emplace_back(row, col);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Csr a{1 << 10, 1 << 10, {0}, {}};
  for (const auto& [row, col] : edges) {
    while (static_cast<std::int64_t>(a.offsets.size()) <= row) a.offsets.push_back(a.nnz());
    a.columns.push_back(col);
  }
  while (static_cast<std::int64_t>(a.offsets.size()) <= a.rows) a.offsets.push_back(a.nnz());
  return a;
}

TEST_P(CudaProducts, SparseProductOfRmatPatternsEqualsReference) {
  for (const OrrerySpmmBy by : kBy)
    for (const std::int64_t width : {16, 41})
      expect_equals_reference(
          [&](World& w) -> Op {
            Csr pattern = rmat_pattern(w.draw(), 20000);
            const Tensor values = w.floats(pattern.nnz(), 1);
            return SpMM{w.sparse(std::move(pattern)), values, w.floats(1 << 10, width),
                        w.poisoned(1 << 10, width), 0};
          },
          1e-4, {.by = by});
}

TEST_P(CudaProducts, SparseProductOfAnEmptyPatternScalesTheOutput) {
  for (const OrrerySpmmBy by : kBy)
    for (const float beta : {0.0F, 1.0F, 0.5F})
      expect_equals_reference(
          [&](World& w) -> Op {
            const Sparse a = w.sparse({4, 0, {0, 0, 0, 0, 0}, {}});
            return SpMM{
                a, {}, w.floats(0, 24), beta == 0 ? w.poisoned(4, 24) : w.floats(4, 24), beta};
          },
          1e-5, {.by = by});
}

TEST_P(CudaProducts, OnePatternServesManyProducts) {
  const auto& [api, device, s] = session_;
  World w;
  const Csr a = random_pattern(w.draw(), 50, 50, 30);
  OrreryPattern* pattern = nullptr;
  session_.must(api.pattern_open(s, 50, 50, a.nnz(), a.offsets.data(), a.columns.data(), &pattern));
  auto* memory = session_.allocate<float>(4 * (2 * 50 * 40 + 2 * 50 * 40));
  session_.must(api.fill(s, {memory, 4, 2000, 2000, kOrreryF32}, 1));
  // The same width at two places: what was prepared for the first must not be taken for the second.
  for (const OrrerySpmmBy by : kBy)
    for (const std::int64_t place : {0, 1}) {
      const OrreryMatrix x{memory + place * 2000, 50, 40, 40, kOrreryF32};
      const OrreryMatrix y{memory + 4000 + place * 2000, 50, 40, 40, kOrreryF32};
      session_.must(api.fill(s, x, static_cast<double>(place + 1)));
      session_.must(api.spmm(s, pattern, nullptr, x, y, 0, by));
      std::vector<float> got(2000);
      session_.must(api.copy_out(s, got.data(), y.data, 8000));
      session_.must(api.stream_sync(s));
      for (std::int64_t i = 0; i < 50; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i * 40)],
                  static_cast<float>((place + 1) * a.degree(i)));
    }
  api.pattern_close(pattern);
  session_.must(api.release(device, memory));
  OrreryDeviceMemory left{};
  session_.must(api.device_memory(device, &left));
  EXPECT_EQ(left.in_use_bytes, 0);
}

TEST_P(CudaProducts, DenseProductEqualsReference) {
  const ProductSizes cases[] = {{0, 3, 4}, {3, 0, 4},   {3, 4, 0},     {1, 1, 1},   {1, 17, 5},
                                {5, 1, 9}, {33, 17, 9}, {64, 100, 33}, {17, 33, 5}, {13, 9, 703}};
  for (const auto [m, n, k] : cases)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const float beta : {0.0F, 1.0F, 0.5F})
          expect_equals_reference(
              [&, m = m, n = n, k = k](World& w) -> Op {
                return dense_product(w, {m, n, k}, transpose_a, transpose_b, beta);
              },
              1e-4);
}

INSTANTIATE_TEST_SUITE_P(Libraries, CudaProducts, ::testing::ValuesIn(cuda_libraries()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace orrery::testing
