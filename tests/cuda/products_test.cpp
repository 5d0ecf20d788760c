// Sparse products of the CUDA library by every way that a caller may ask for: ours and cuSPARSE's.
#include "tests/backends/kernel_cases/patterns.hpp"
#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/cuda/table_kernels.hpp"
#include "tests/support/pairs.hpp"

namespace orrery::testing {
namespace {

constexpr std::array kBy{kOrrerySpmmChosen, kOrrerySpmmOwn, kOrrerySpmmCusparse,
                         kOrrerySpmmCusparseRepeatable};

class CudaProducts : public ::testing::TestWithParam<CudaLibrary> {
 protected:
  const CudaSession session_{*GetParam().api};
};

TEST_P(CudaProducts, SparseProductEqualsReferenceByEveryWay) {
  for (const auto& [by, width, beta, valued] :
       pairs_of(kBy, std::array{1, 17, 64}, kBetas, kEither))
    expect_equals_reference(
        [&](World& w) -> Op {
          return product_of(w, random_pattern(w.draw(), 60, 61, 40), {width, valued, beta, 3});
        },
        twice_by_table(session_, {.by = by}));
}

TEST_P(CudaProducts, SparseProductOfRmatPatternsEqualsReferenceByEveryWay) {
  for (const auto& [by, width] : pairs_of(kBy, std::array{16, 41}))
    expect_equals_reference(
        [&](World& w) -> Op {
          return product_of(w, rmat_pattern(w.draw(), 20000), {width, true, 0});
        },
        twice_by_table(session_, {.by = by}), 1e-4);
}

TEST_P(CudaProducts, SparseProductOfAnEmptyPatternScalesTheOutputByEveryWay) {
  for (const auto& [by, beta] : pairs_of(kBy, kBetas))
    expect_equals_reference(
        [&](World& w) -> Op {
          return product_of(w, pattern_of_lengths({0, 0, 0, 0}, 0), {24, false, beta});
        },
        twice_by_table(session_, {.by = by}));
}

TEST_P(CudaProducts, SparseProductWithHeadsIsOursAndRefusedByCusparse) {
  const Script script = [](World& w) -> Op {
    return product_of(w, random_pattern(w.draw(), 60, 61, 40), {56, true, 0.5F, 4, 8});
  };
  for (const OrrerySpmmBy by : {kOrrerySpmmChosen, kOrrerySpmmOwn})
    expect_equals_reference(script, twice_by_table(session_, {.by = by}));

  const auto& [api, device, s] = session_;
  const std::int64_t offsets[] = {0, 1};
  const std::int32_t columns[] = {0};
  OrreryPattern* pattern = nullptr;
  session_.must(api.pattern_open(s, 1, 1, 1, offsets, columns, &pattern));
  auto* memory = session_.allocate<float>(4 * 24);
  const OrreryMatrix x{memory, 1, 8, 8, kOrreryF32}, y{memory + 8, 1, 8, 8, kOrreryF32};
  for (const OrrerySpmmBy by : {kOrrerySpmmCusparse, kOrrerySpmmCusparseRepeatable}) {
    EXPECT_EQ(api.spmm(s, pattern, memory + 16, 2, x, y, 0, by), kOrreryFailed);
    EXPECT_NE(std::string(api.last_error()).find("the library's own product"), std::string::npos);
  }
  EXPECT_EQ(api.spmm(s, pattern, memory + 16, 3, x, y, 0, kOrrerySpmmOwn), kOrreryFailed);
  EXPECT_NE(std::string(api.last_error()).find("heads must divide"), std::string::npos);
  api.pattern_close(pattern);
  session_.must(api.release(device, memory));
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
      session_.must(api.spmm(s, pattern, nullptr, 1, x, y, 0, by));
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

INSTANTIATE_TEST_SUITE_P(Libraries, CudaProducts, ::testing::ValuesIn(cuda_libraries()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace orrery::testing
