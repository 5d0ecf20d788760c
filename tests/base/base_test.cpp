#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/base/units.hpp"

namespace orrery {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8})
    for (const std::int64_t n : {0, 1, 7, 1000}) {
      const ThreadPool pool(threads);
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
      parallel_for(n, 7, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& v : visits) EXPECT_EQ(v, 1);
    }
}

TEST(ParallelFor, BlocksDoNotDependOnTheNumberOfThreads) {
  const auto blocks = [](int threads) {
    const ThreadPool pool(threads);
    std::mutex mutex;
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    parallel_for(100, 13, [&](std::int64_t begin, std::int64_t end) {
      const std::lock_guard lock(mutex);
      seen.insert({begin, end});
    });
    return seen;
  };
  EXPECT_EQ(blocks(1), blocks(4));
}

TEST(ParallelFor, RethrowsTheBodysExceptionAndGoesOn) {
  const ThreadPool pool(3);
  EXPECT_THROW(parallel_for(100, 1,
                            [](std::int64_t begin, std::int64_t) {
                              if (begin == 50) throw Error("in the loop");
                            }),
               Error);
  std::atomic<int> sum{0};
  parallel_for(10, 1, [&](std::int64_t begin, std::int64_t) { sum += static_cast<int>(begin); });
  EXPECT_EQ(sum, 45);
}

TEST(ParallelFor, NestedLoopsRunSerially) {
  const ThreadPool pool(4);
  std::atomic<int> count{0};
  parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    EXPECT_EQ(loop_threads(), 1);
    parallel_for(10, 1, [&](std::int64_t, std::int64_t) { ++count; });
  });
  EXPECT_EQ(count, 80);
  EXPECT_EQ(loop_threads(), 4);
}

TEST(Random, DrawsAreAPureFunctionOfSeedPurposeAndCounter) {
  EXPECT_EQ(random_bits(1, Purpose::dropout, 2, 3, 4), random_bits(1, Purpose::dropout, 2, 3, 4));
  std::set<std::array<std::uint32_t, 4>> all;
  for (std::uint64_t seed : {1ULL, 2ULL, 1ULL << 40U})
    for (const auto purpose : {Purpose::dropout, Purpose::weights})
      for (std::uint32_t a = 0; a < 5; ++a)
        for (std::uint32_t b = 0; b < 5; ++b) all.insert(random_bits(seed, purpose, a, b, a ^ b));
  EXPECT_EQ(all.size(), 3U * 2 * 25);
}

/// Known answer of Philox4x32-10 for zero key and counter, from Random123's kat_vectors; purpose 0
/// is no purpose of ours.
TEST(Random, GeneratorIsPhilox) {
  const auto bits = random_bits(0, static_cast<Purpose>(0), 0, 0, 0);
  EXPECT_EQ(bits, (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Random, MappingsStayInTheirRanges) {
  EXPECT_EQ(uniform_float(0), 0.0F);
  EXPECT_LT(uniform_float(~0U), 1.0F);
  EXPECT_LT(uniform_double(~0U, ~0U), 1.0);
  EXPECT_EQ(uniform_below(~0U, ~0U, 10), 9U);
  EXPECT_EQ(uniform_below(0, 0, 10), 0U);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  Sequence draws(7, Purpose::features, 0);
  for (int i = 0; i < kDraws; ++i) {
    const auto u = draws.word();
    const double x = normal_float(u, draws.word());
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

TEST(Units, NumbersAreReadable) {
  EXPECT_EQ(human_bytes(std::int64_t{812}), "812 B");
  EXPECT_EQ(human_bytes(std::int64_t{1536}), "1.50 KiB");
  EXPECT_EQ(human_bytes(20.0 * 1024 * 1024 * 1024), "20.0 GiB");
  EXPECT_EQ(human_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(human_seconds(4.5), "4.50 s");
  EXPECT_EQ(human_seconds(7.8e-5), "78.0 µs");
  EXPECT_EQ(human_count(400000), "400.0 k");
}

TEST(Errors, OutOfMemorySaysWhatWhereAndHowMuch) {
  const OutOfMemory error("halo/rows", 2048, 1024, 1536);
  EXPECT_STREQ(error.what(),
               "out of memory: tensor 'halo/rows' needs 2.00 KiB, but 1.00 KiB of 1.50 KiB are in "
               "use");
}

}  // namespace
}  // namespace orrery
