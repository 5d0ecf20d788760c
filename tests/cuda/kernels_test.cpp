// The CUDA library on the cases of every backend, and what is of this library alone: one row of
// millions of columns, indices that are known to be distinct, sums between ranks.
#include <algorithm>

#include "tests/backends/kernel_cases/sizes.hpp"
#include "tests/cuda/table_kernels.hpp"

namespace orrery::testing {
namespace {

/// Sparse products are the library's own; products_test.cpp has the other ways.
std::vector<Backend> cuda_backends() {
  std::vector<Backend> list;
  for (const CudaLibrary& library : cuda_libraries())
    list.push_back({library.name,
                    [api = library.api] {
                      const auto session = std::make_shared<const CudaSession>(*api);
                      const Runner run = [session](const World& world, const Op& op) {
                        run_by_table(*session, world, op, {.by = kOrrerySpmmOwn});
                      };
                      return std::vector<Runner>{run, run};
                    },
                    ""});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Cuda, KernelCases, ::testing::ValuesIn(cuda_backends()), name_of_backend);

class CudaKernels : public ::testing::TestWithParam<CudaLibrary> {
 protected:
  const CudaSession session_{*GetParam().api};
};

TEST_P(CudaKernels, ScatterAddOfIndicesThatAreKnownToBeDistinctEqualsReference) {
  for (const std::int64_t width : kWidths)
    expect_equals_reference(
        [&](World& w) -> Op {
          std::vector<std::int32_t> rows(70);
          for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i] = static_cast<std::int32_t>(i * 37 % 97);
          const Tensor x = w.floats(70, width), index = w.integers(rows);
          return ScatterAddRows{x, index, w.floats(97, width, width + 4)};
        },
        twice_by_table(session_, {.max_repeats = 1}), 0);
}

// More columns than blocks of one axis of a grid: all parameters of a model are such a row.
TEST_P(CudaKernels, ARowOfMillionsOfColumnsIsFilledAndScaledToItsEnd) {
  constexpr std::int64_t kColumns = 65535 * 256 + 1000;
  auto* p = session_.allocate<float>(4 * kColumns);
  const OrreryMatrix row{p, 1, kColumns, kColumns, kOrreryF32};
  std::vector<float> got(static_cast<std::size_t>(kColumns));
  session_.must(session_.api.fill(session_.stream, row, 2));
  session_.must(session_.api.copy(session_.stream, row, row, 3, 0));
  session_.must(session_.api.copy_out(session_.stream, got.data(), p, 4 * kColumns));
  session_.must(session_.api.stream_sync(session_.stream));
  EXPECT_EQ(std::count(got.begin(), got.end(), 6.0F), kColumns);
  session_.must(session_.api.release(session_.device, p));
}

TEST_P(CudaKernels, AddSumsArraysOfBothFloatTypes) {
  const auto sums = [&]<class T>(OrreryDType dtype, T) {
    std::vector<T> x(1001), y(1001);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<T>(i) / 3;
      y[i] = static_cast<T>(i) / 7;
    }
    const auto bytes = static_cast<std::int64_t>(x.size() * sizeof(T));
    const auto& [api, device, s] = session_;
    T *a = session_.allocate<T>(bytes), *b = session_.allocate<T>(bytes);
    session_.must(api.copy_in(s, a, x.data(), bytes));
    session_.must(api.copy_in(s, b, y.data(), bytes));
    session_.must(api.add(s, dtype, a, b, 1001));
    std::vector<T> got(1001);
    session_.must(api.copy_out(s, got.data(), b, bytes));
    session_.must(api.stream_sync(s));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], y[i] + x[i]) << i;
    session_.must(api.release(device, a));
    session_.must(api.release(device, b));
  };
  sums(kOrreryF32, float{});
  sums(kOrreryF64, double{});
  EXPECT_EQ(session_.api.add(session_.stream, kOrreryI32, nullptr, nullptr, 1), kOrreryFailed);
  EXPECT_STREQ(session_.api.last_error(), "add: sums are of f32 or f64");
}

INSTANTIATE_TEST_SUITE_P(Libraries, CudaKernels, ::testing::ValuesIn(cuda_libraries()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace orrery::testing
