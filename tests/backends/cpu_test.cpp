// The cpu backend on the cases of every backend, for every instruction set of this machine and on
// 1, 2 and 3 threads, which must not change a bit; and what is of this backend alone.
#include "backends/cpu/cpu.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "backends/cpu/isa.hpp"
#include "backends/reference/reference.hpp"
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/patterns.hpp"

namespace orrery::testing {
namespace {

/// One thread, then `threads`.
Backend cpu_backend(Isa isa, int threads) {
  const auto open = [=] {
    const std::shared_ptr<Kernels> kernels = make_cpu_kernels_for(isa);
    const Runner serial = [=](const World& world, const Op& op) { world.run(*kernels, op); };
    const Runner threaded = [=](const World& world, const Op& op) {
      const ThreadPool pool(threads);
      world.run(*kernels, op);
    };
    return std::vector<Runner>{serial, threaded};
  };
  return {std::string(name_of(isa)) + "_" + std::to_string(threads) + "_threads", open,
          supported(isa) ? "" : "not on this machine"};
}

std::vector<Backend> cpu_backends() {
  std::vector<Backend> list;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
    for (const int threads : {2, 3}) list.push_back(cpu_backend(isa, threads));
  return list;
}

INSTANTIATE_TEST_SUITE_P(Cpu, KernelCases, ::testing::ValuesIn(cpu_backends()), name_of_backend);

class CpuKernelCases : public KernelCases {};
INSTANTIATE_TEST_SUITE_P(Cpu, CpuKernelCases, ::testing::ValuesIn(cpu_backends()), name_of_backend);

// Ranges of a wide operand have 1024 edges.
TEST_P(CpuKernelCases, SparseProductWithARowThatIsLongerThanTwoRangesEqualsReference) {
  for (const float beta : {0.0F, 0.5F})
    expect_equals_reference(
        [&](World& w) -> Op {
          return product_of(w, pattern_of_lengths({5, 0, 2100, 7}, 97), {2050, true, beta});
        },
        1e-4);
}

// Parts of an inner sum lie in memory that stays with the thread, up to 16 MiB: that of a product
// before must leave no trace, and neither must a product that is larger.
TEST_P(CpuKernelCases, InnerSumsOfProductsAfterEachOtherAreWhole) {
  constexpr std::int64_t k = 2304;  // parts of 1024, 1024 and 256; half of it is 1152
  for (const std::int64_t columns : {3, 40, 2500, 5, 40}) {
    World world;
    const std::int64_t rows = columns == 2500 ? 570 : 40;
    const Tensor a = world.poisoned(k, rows), b = world.poisoned(k, columns);
    std::fill_n(world.data<float>(a), a.shape.size(), 1.0F);
    std::fill_n(world.data<float>(b), b.shape.size(), 0.5F);
    for (const Runner& run : ways_) {
      const Tensor c = world.poisoned(rows, columns);
      run(world, Gemm{a, b, c, true, false});
      for (const float sum : world.values(c)) ASSERT_EQ(sum, 1152) << columns;
    }
  }
}

TEST_P(CpuKernelCases, LoadEqualsReference) {
  const auto vertices = std::make_shared<const std::vector<Vertex>>(std::vector<Vertex>{4, 0, 2});
  const auto labels =
      std::make_shared<const Labels>(Labels{2, true, {0, 1, 1, 1, 0, 0, 1, 0, 0, 1}});
  const auto values = std::make_shared<const std::vector<float>>(40000, 0.25F);
  const auto exactly = [&](const Script& script) { expect_equals_reference(script, 0); };

  exactly([&](World& w) -> Op {
    return Load{LabelRows{labels, vertices}, w.poisoned(3, 2, 0, DType::i32)};
  });
  exactly([&](World& w) -> Op {
    return Load{IndexArray{vertices}, w.poisoned(3, 1, 0, DType::i32)};
  });
  exactly([&](World& w) -> Op { return Load{FloatArray{values}, w.poisoned(40000, 1)}; });
  for (const std::int64_t rows : {0, 1, 333})
    exactly([&](World& w) -> Op {
      return Load{UniformWeights{5, 2, 0.5F}, w.poisoned(rows, 101)};
    });
}

TEST_P(CpuKernelCases, SaveTakesAWindowOutAndLoadBringsItBack) {
  World world;
  const Tensor x = world.given(1, 7, {0, 1, 2, 3, 4, 5, 6}), y = world.poisoned(1, 3);
  const auto saved = std::make_shared<std::vector<float>>();
  for (const Runner& run : ways_) {
    run(world, Save{x.cols_at(2, 3), saved});
    EXPECT_EQ(*saved, (std::vector<float>{2, 3, 4}));
    run(world, Load{FloatArray{saved}, y});
    EXPECT_EQ(world.values(y), *saved);
  }
}

// 2^20 rows of 16 floats are the 64 MiB from which rows are written past the caches.
TEST(CpuStreaming, SparseProductWithAHugeOutputEqualsReference) {
  const auto script = [](World& w) -> Op {
    constexpr std::int64_t rows = std::int64_t{1} << 20;
    Csr pattern{rows, 3, {}, {}};
    for (std::int64_t i = 0; i <= rows; ++i) pattern.offsets.push_back(i);
    pattern.offsets.erase(pattern.offsets.begin());
    for (std::int64_t i = 0; i < rows; ++i) pattern.columns.push_back(static_cast<Vertex>(i % 3));
    const Tensor x = w.floats(3, 16);
    return SpMM{w.sparse(std::move(pattern)), {}, x, w.poisoned(rows, 16), 0};
  };
  const ThreadPool pool(2);
  World expected, got;

  expected.run(*make_reference_kernels(), script(expected));
  got.run(*make_cpu_kernels(), script(got));

  expect_same_bits(got, expected);
}

/// Ends this process after it made kernels with so many more bytes of address space: 0, or 1 with
/// the error's text.
[[noreturn]] void make_kernels_within(std::int64_t more_bytes) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto limit = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + more_bytes);
  const rlimit space{limit, limit};
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &space), 0);
  try {
    make_cpu_kernels();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

TEST(CpuProducts, ALimitThatLeavesNoRoomForGeneratedCodeIsToldBeforeItIsWritten) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than any limit grants";
#endif
  if (!cpu_kernels_description().ends_with(", oneDNN)")) GTEST_SKIP() << "generates no code";
  using ::testing::ExitedWithCode;

  EXPECT_EXIT(make_kernels_within(8 << 20), ExitedWithCode(1),
              "oneDNN needs 32.0 MiB of address space .* ulimit -v grants");
  EXPECT_EXIT(make_kernels_within(64 << 20), ExitedWithCode(0), "");
}

TEST(CpuDescription, NamesInstructionSetAndDenseLibrary) {
  const std::string text = cpu_kernels_description();

  EXPECT_NE(text.find(name_of(best_isa())), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(", oneDNN)") || text.ends_with(", OpenBLAS)")) << text;
}

}  // namespace
}  // namespace orrery::testing
