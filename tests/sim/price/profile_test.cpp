// Prices against numbers that are derived here by hand.
#include "sim/price/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "sim/price/host_seconds.hpp"
#include "sim/price/op_seconds.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"
#include "sim/price/roofline.hpp"
#include "tests/support/sample_ops.hpp"

namespace orrery::sim {
namespace {

using testing::matrix_of;
using testing::sample_ops;

Op gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Gemm{matrix_of(0, m, k), matrix_of(1, k, n), matrix_of(2, m, n), false, false, 0};
}

Op product(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::int64_t width,
           float reuse = 1) {
  Sparse a{0, {rows, cols}, nnz};
  a.reuse = reuse;
  return SpMM{a, matrix_of(0, nnz, 1), matrix_of(1, cols, width), matrix_of(2, rows, width), 0};
}

/// seconds = m · n^0.5 · threads^-1 on a grid.
DeviceProfile power_law() {
  DeviceProfile profile;
  profile.name = "power-law";
  profile.roofline.launch_seconds = 1e-6;
  PriceTable& table = profile.tables["gemm"];
  table.axes = {{"m", {10, 100, 1000}}, {"n", {4, 16}}, {"threads", {1, 2, 4}}};
  for (const double m : table.axes[0].points)
    for (const double n : table.axes[1].points)
      for (const double t : table.axes[2].points) table.seconds.push_back(m * std::sqrt(n) / t);
  return profile;
}

TEST(HostPrices, AreWhatTheirFormulaSays) {
  DeviceProfile profile;
  profile.host["sample"] = {1e-6, 2e-9, 1e9, 0.5};
  profile.host["checkpoint"] = {.launch_seconds = 1e-3};

  // 1 us + (500 x 2 ns + 4000 B at 1 GB/s), then over 1 + 3 x 0.5 for four threads.
  EXPECT_DOUBLE_EQ(host_seconds(profile, "sample", 500, 4000, 1), 1e-6 + 1e-6 + 4e-6);
  EXPECT_DOUBLE_EQ(host_seconds(profile, "sample", 500, 4000, 4), 1e-6 + 5e-6 / 2.5);
  EXPECT_DOUBLE_EQ(host_seconds(profile, "checkpoint", 1, 1e9, 1), 1e-3);
  profile.scale = {{"*", 7}, {"sample", 3}};
  EXPECT_DOUBLE_EQ(host_seconds(profile, "sample", 500, 4000, 1), 3 * 6e-6) << "of its kind alone";
}

TEST(HostPrices, OfAKindThatTheProfileHasNotNameTheKey) {
  DeviceProfile profile;
  profile.name = "v100";
  profile.host["checkpoint"] = {};
  try {
    host_seconds(profile, "sample", 1, 1, 1);
    FAIL();
  } catch (const Uncalibrated& error) {
    const std::string text = error.what();
    for (const char* word : {"v100", "host.kinds.sample", "checkpoint"})
      EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

TEST(Tables, AreExactAtTheirPoints) {
  DeviceProfile profile = power_law();
  profile.tables["gemm"].seconds[7] = 123;  // m 100, n 4, threads 2

  EXPECT_DOUBLE_EQ(op_seconds(profile, gemm(100, 4, 7), 2), 123);
  EXPECT_DOUBLE_EQ(op_seconds(profile, gemm(1000, 16, 7), 4), 1000.0 * 4 / 4);
}

TEST(Tables, GiveProductsOfPowersExactlyInBetween) {
  const DeviceProfile profile = power_law();

  EXPECT_NEAR(op_seconds(profile, gemm(37, 9, 7), 3), 37 * 3.0 / 3, 1e-9);
}

TEST(Tables, TakeTheGeometricMeanHalfWayBetweenTwoPoints) {
  PriceTable table;
  table.axes = {{"size", {1, 100}}};
  table.seconds = {2, 8};

  EXPECT_NEAR(interpolate(table, std::vector<double>{10}), 4, 1e-12);
}

TEST(Tables, GrowWithTheWorkBeyondTheirLargestPointAndHaveAFloorBelowTheSmallest) {
  const DeviceProfile profile = power_law();

  EXPECT_NEAR(op_seconds(profile, gemm(5000, 16, 1), 1), 5 * 1000 * 4.0, 1e-6);
  EXPECT_NEAR(op_seconds(profile, gemm(5000, 160, 1), 1), 5 * 10 * 1000 * 4.0, 1e-6);
  EXPECT_NEAR(op_seconds(profile, gemm(1, 1, 1), 1), 10 * 2.0, 1e-9);
  EXPECT_NEAR(op_seconds(profile, gemm(10, 4, 1), 64), 10 * 2.0 / 4, 1e-9) << "threads are no work";
}

TEST(Tables, AreTakenForTheVariantThatTheyAreOf) {
  DeviceProfile profile = power_law();
  const Op transposed = Gemm{matrix_of(0, 8, 5), matrix_of(1, 8, 4), matrix_of(2, 5, 4), true};

  EXPECT_THROW(op_seconds(profile, transposed, 1), Uncalibrated);
  profile.tables["gemm/transpose_a"] = {{{"k", {8}}}, {42}, 0};
  EXPECT_DOUBLE_EQ(op_seconds(profile, transposed, 1), 42);
}

TEST(Tables, ThatAreNoGridAreRefused) {
  const auto problem = [](const PriceTable& table) { return problem_of(table, "gemm"); };

  EXPECT_EQ(problem({{{"m", {1, 2}}, {"n", {1}}}, {1, 1}, 0}), "");
  EXPECT_NE(problem({{{"m", {1, 2}}}, {1, 1, 1}, 0}).find("found 3 seconds, expected 2"),
            std::string::npos);
  EXPECT_NE(problem({{{"m", {2, 1}}}, {1, 1}, 0}).find("ascend"), std::string::npos);
  EXPECT_NE(problem({{{"width", {1, 2}}}, {1, 1}, 0}).find("no axis \"width\""), std::string::npos);
  EXPECT_NE(problem({{{"m", {1}}, {"m", {1}}}, {1}, 0}).find("twice"), std::string::npos);
  EXPECT_NE(problem({{{"m", {1}}}, {0}, 0}), "");
}

TEST(Prices, OfWhatIsNotThereNameOperationAndProfile) {
  const DeviceProfile profile = power_law();

  try {
    op_seconds(profile, product(10, 20, 30, 4), 1);
    FAIL() << "priced";
  } catch (const Uncalibrated& error) {
    EXPECT_NE(std::string(error.what()).find("power-law"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("spmm a=s0[10x20 nnz 30]"), std::string::npos);
  }
}

TEST(Prices, OfNothingAreALaunch) {
  DeviceProfile profile = power_law();

  EXPECT_DOUBLE_EQ(op_seconds(profile, gemm(0, 4, 5), 1), 1e-6);
  EXPECT_THROW(op_seconds(profile, product(0, 20, 0, 4), 1), Uncalibrated)
      << "also nothing has a kind";
}

TEST(Prices, AreScaledByKeyElseByKindAndAllTogether) {
  DeviceProfile profile = power_law();
  const double once = op_seconds(profile, gemm(100, 4, 7), 1);

  profile.scale = {{"gemm", 3}};
  EXPECT_DOUBLE_EQ(op_seconds(profile, gemm(100, 4, 7), 1), 3 * once);
  profile.scale["*"] = 2;
  EXPECT_DOUBLE_EQ(op_seconds(profile, gemm(100, 4, 7), 1), 6 * once);
}

TEST(Prices, KnowEveryOperationByTheKeyThatIsListed) {
  std::vector<Op> ops = sample_ops(64, 16);
  // One has the price of another.
  const auto shares = std::find_if(ops.begin(), ops.end(), [](const Op& op) {
    return std::holds_alternative<EntriesByColumn>(op);
  });
  ASSERT_NE(shares, ops.end());
  EXPECT_EQ(price_point(*shares).key, "transpose_sparse");
  ops.erase(shares);

  ASSERT_EQ(ops.size(), price_keys().size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    validate(ops[i]);
    const PricePoint point = price_point(ops[i]);
    EXPECT_EQ(point.key, price_keys()[i]);
    EXPECT_FALSE(point.empty);
    for (const Coordinate& c : point) EXPECT_TRUE(has_axis(point.key, c.axis)) << c.axis;
  }
}

// A zero marks a dropped element of relu.
TEST(Prices, OfEluBackwardAreThoseOfDrawingTheMaskAgain) {
  std::optional<Dropout> dropout;
  std::optional<ActivateBackward> backward;
  for (const Op& op : sample_ops(64, 16)) {
    if (const auto* forward = std::get_if<Activate>(&op); forward != nullptr && forward->dropout)
      dropout = forward->dropout;
    if (const auto* adjoint = std::get_if<ActivateBackward>(&op); adjoint != nullptr && adjoint->y)
      backward = *adjoint;
  }
  ASSERT_TRUE(dropout && backward);
  const auto key_of = [&](Activation activation, const std::optional<Dropout>& drawn) {
    ActivateBackward op = *backward;
    op.activation = activation;
    op.dropout = drawn;
    validate(op);
    return price_point(op).key;
  };

  EXPECT_EQ(key_of(Activation::relu, dropout), "activate_backward");
  EXPECT_EQ(key_of(Activation::elu, {}), "activate_backward");
  EXPECT_EQ(key_of(Activation::elu, dropout), "activate_backward/dropout");
}

DeviceProfile a_gpu() {
  DeviceProfile profile;
  profile.name = "a-gpu";
  profile.roofline = {.flops_per_second = 10e12,
                      .bytes_per_second = 1e12,
                      .cache_bytes = 1e6,
                      .cache_bytes_per_second = 4e12,
                      .by_kind = {{"spmm", {1, 0.5}}, {"gemm", {0.8, 0.5}}},
                      .launch_seconds = 4e-6};
  return profile;
}

TEST(Rooflines, AreTheLargerOfBothBoundsAndALaunch) {
  const DeviceProfile profile = a_gpu();

  // 2·1000³ FLOP at 8 TFLOP/s; 3·4·1000² B at 0.5 TB/s is less.
  EXPECT_NEAR(op_seconds(profile, gemm(1000, 1000, 1000), 1), 4e-6 + 2e9 / 8e12, 1e-12);
  // 4·(10⁶·8 + 8·8 + 10⁶·8) B at 0.5 TB/s; 2·64·10⁶ FLOP are less.
  EXPECT_NEAR(op_seconds(profile, gemm(1000000, 8, 8), 1), 4e-6 + (64e6 + 256) / 0.5e12, 1e-12);
}

TEST(Rooflines, OfASparseProductCountOneGatheredRowPerEdge) {
  const DeviceProfile profile = a_gpu();
  const double rows = 1e4, cols = 1e6, edges = 1e5, width = 128;
  // x has 512 MB: a share of 1/512 of the gathered rows is in the cache of 1 MB.
  const double gathered = edges * width * 4, hits = 1e6 / (cols * width * 4);
  const double memory = edges * 8 + rows * 8 + rows * width * 4 + (1 - hits) * gathered;

  const double seconds = op_seconds(profile, product(10000, 1000000, 100000, 128), 1);

  // All first uses come from memory: 10⁵ edges reach at most 10⁵ of the rows of x.
  EXPECT_NEAR(seconds, 4e-6 + (memory + hits * gathered) / 1e12 / 0.5, 1e-9);
}

TEST(Rooflines, OfASparseProductAreFasterWhereXFitsIntoTheCache) {
  const DeviceProfile profile = a_gpu();
  // x has 1000 · 64 · 4 B = 256 kB and is read once from memory, 3999744 kB of rows are hits.
  const double x = 1000 * 64 * 4, gathered = 1e6 * 64 * 4;
  const double memory = 1e6 * 8 + 1e4 * 8 + 1e4 * 64 * 4 + x;

  const double seconds = op_seconds(profile, product(10000, 1000, 1000000, 64), 1);

  EXPECT_NEAR(seconds, 4e-6 + (memory / 1e12 + (gathered - x) / 4e12) / 0.5, 1e-12);
  EXPECT_LT(seconds, op_seconds(profile, product(10000, 100000, 1000000, 64), 1) / 2);
  EXPECT_LT(op_seconds(profile, product(10000, 100000, 1000000, 64, 0.01F), 1),
            op_seconds(profile, product(10000, 100000, 1000000, 64), 1) / 2)
      << "locality is as good as a small x";
}

Op with_heads(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::int64_t heads,
              std::int64_t columns) {
  const std::int64_t width = heads * columns;
  return SpMM{{0, {rows, cols}, nnz},
              matrix_of(0, nnz, heads),
              matrix_of(1, cols, width),
              matrix_of(2, rows, width),
              0};
}

TEST(Rooflines, OfASparseProductReadAValueForEachHead) {
  const DeviceProfile profile = a_gpu();

  const double one = op_seconds(profile, product(10000, 1000, 1000000, 64), 1),
               eight = op_seconds(profile, with_heads(10000, 1000, 1000000, 8, 8), 1);

  EXPECT_NEAR(eight - one, 1e6 * 7 * 4 / 1e12 / 0.5, 1e-12) << "seven more for each entry";
}

TEST(Tables, OfHeadsAreApartFromThoseOfOneValue) {
  DeviceProfile profile;
  profile.tables["spmm"] = {{{"width", {8, 64}}}, {1, 8}, 0};

  EXPECT_THROW(op_seconds(profile, with_heads(10, 20, 30, 8, 7), 1), Uncalibrated);
  profile.tables["spmm/heads"] = {
      {{"heads", {2, 8}}, {"columns", {4, 16}}, {"ragged", {1, 2}}}, {1, 2, 3, 4, 5, 6, 7, 8}, 0};
  EXPECT_EQ(problem_of(profile.tables["spmm/heads"], "spmm/heads"), "");
  EXPECT_DOUBLE_EQ(op_seconds(profile, with_heads(10, 20, 30, 8, 16), 1), 7);
  EXPECT_DOUBLE_EQ(op_seconds(profile, with_heads(10, 20, 30, 2, 4), 1), 2) << "4 are ragged";
  EXPECT_DOUBLE_EQ(op_seconds(profile, with_heads(10, 20, 30, 32, 16), 1), 4 * 7)
      << "heads are work";
  EXPECT_DOUBLE_EQ(op_seconds(profile, product(10, 20, 30, 8), 1), 1);
  EXPECT_NE(problem_of({{{"heads", {1, 2}}}, {1, 1}, 0}, "spmm").find("no axis \"heads\""),
            std::string::npos);
}

/// Rows of one entry with a value for each column, as those of pairs of vertices are picked.
TEST(Tables, OfAValueForEachColumnAreApartFromThoseOfHeads) {
  DeviceProfile profile;
  profile.tables["spmm/heads"] = {{{"heads", {2, 8}}, {"columns", {2, 8}}}, {9, 9, 9, 9}, 0};
  EXPECT_THROW(op_seconds(profile, with_heads(10, 20, 10, 8, 1), 1), Uncalibrated);
  profile.tables["spmm/columns"] = {
      {{"degree", {1, 16}}, {"width", {8, 32}}, {"ragged", {1, 2}}}, {1, 2, 3, 4, 5, 6, 7, 8}, 0};
  EXPECT_EQ(problem_of(profile.tables["spmm/columns"], "spmm/columns"), "");

  EXPECT_DOUBLE_EQ(op_seconds(profile, with_heads(10, 20, 10, 32, 1), 1), 3);
  EXPECT_DOUBLE_EQ(op_seconds(profile, with_heads(10, 20, 160, 8, 1), 1), 5);
  EXPECT_DOUBLE_EQ(op_seconds(profile, with_heads(10, 20, 10, 7, 1), 1), 2) << "7 are ragged";
  EXPECT_DOUBLE_EQ(op_seconds(profile, with_heads(10, 20, 10, 8, 2), 1), 9) << "two columns a head";
}

/// Rows of 164 bytes begin anywhere at a multiple of 4: 164 + 32 - 4 = 192 of 6 sectors on average.
TEST(Rooflines, OfASparseProductGatherWholeSectors) {
  const SpMM narrow = std::get<SpMM>(product(10000, 1000000, 100000, 41));
  const GatherTraffic none = gather_traffic(narrow, 0);

  EXPECT_DOUBLE_EQ(none.memory_bytes, 1e5 * 8 + 1e4 * 8 + 1e4 * 164 + 1e5 * 192);
  EXPECT_DOUBLE_EQ(none.cache_bytes, 0);
}

/// Rows of x are read once, those of z by every entry, and a number for each entry and head written.
TEST(Rooflines, OfASampledDenseProductGatherAsAProductDoes) {
  const Sparse a{0, {10000, 1000000}, 100000};
  const Sddmm dots{a, matrix_of(1, 10000, 48), matrix_of(2, 1000000, 48), matrix_of(3, 100000, 6)};

  const GatherTraffic none = gather_traffic(dots, 0), all = gather_traffic(dots, 1e12);

  const double streamed = 1e5 * 4 + 1e4 * 8 + 1e4 * 192 + 1e5 * 24;
  EXPECT_DOUBLE_EQ(none.memory_bytes, streamed + 1e5 * 192);
  EXPECT_DOUBLE_EQ(all.memory_bytes, streamed + 1e5 * 192) << "fewer entries than rows of z";
  EXPECT_DOUBLE_EQ(none.cache_bytes, 0);
}

/// 10⁶ entries in 10⁴ rows of a mean of 100; the longest has 50 times as many, each of 256 bytes,
/// and one of 100 multiprocessors sums it at a hundredth of 2 TB/s.
TEST(Rooflines, OfASparseProductWaitForItsLongestRow) {
  DeviceProfile profile = a_gpu();
  const auto seconds_at = [&](float skew) {
    SpMM op = std::get<SpMM>(product(10000, 1000000, 1000000, 64));
    op.a.skew = skew;
    return op_seconds(profile, op, 1);
  };
  const double unaware = seconds_at(50);
  profile.roofline.multiprocessors = 100;
  const double even = seconds_at(1), skewed = seconds_at(50), extreme = seconds_at(5000);

  EXPECT_EQ(unaware, even);
  const double others = even - 4e-6, longest = 50 * 100 * 256 / (2e12 / 100);
  ASSERT_LT(longest, others);
  EXPECT_NEAR(skewed - even, longest * longest / (2 * others), 1e-12);
  EXPECT_NEAR(extreme - even, 100 * longest - others / 2, 1e-12);

  // The same by drawing when the longest row begins: the mean of max(T, beginning + p).
  double sum = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) sum += std::max(others, (i + 0.5) / kDraws * others + longest);
  EXPECT_NEAR(skewed - 4e-6, sum / kDraws, 1e-9);
}

/// 1000 vertices and 10,000 entries, where a quarter of the rate is reached: a table of 2048 slots is
/// cleared (8192 B), each vertex takes 12 B and each entry 16 B. A transpose moves 36 B for an
/// entry and 8 B for a row offset.
TEST(Rooflines, OfDrawnEdgesCountTheirTableAndTheirSort) {
  DeviceProfile profile = a_gpu();
  profile.roofline.by_kind["relabel"] = {1, 0.25};
  profile.roofline.by_kind["transpose_sparse"] = {1, 0.5};
  const Sparse a{0, {500, 1000}, 10000}, t{1, {1000, 500}, 10000};
  const Tensor values = matrix_of(2, 10000, 1), t_values = matrix_of(3, 10000, 1);

  const double relabel = op_seconds(
      profile, Relabel{a, matrix_of(0, 1000, 1, DType::i32), matrix_of(1, 2048, 1, DType::i32)}, 1);
  const double transposed = op_seconds(profile, TransposeSparse{a, values, t, t_values}, 1);

  const double launch = profile.roofline.launch_seconds, rate = profile.roofline.bytes_per_second;
  EXPECT_NEAR(relabel, launch + (8192 + 12000 + 160000) / (0.25 * rate), 1e-15);
  EXPECT_NEAR(transposed, launch + (360000 + 8008) / (0.5 * rate), 1e-15);
}

TEST(Rooflines, TakeAVariantBeforeItsKind) {
  DeviceProfile profile = a_gpu();
  const Op transposed =
      Gemm{matrix_of(0, 1000, 1000), matrix_of(1, 1000, 1000), matrix_of(2, 1000, 1000), true};

  EXPECT_NEAR(op_seconds(profile, transposed, 1), 4e-6 + 2e9 / 8e12, 1e-12);
  profile.roofline.by_kind["gemm/transpose_a"] = {0.4, 0.5};
  EXPECT_NEAR(op_seconds(profile, transposed, 1), 4e-6 + 2e9 / 4e12, 1e-12);
}

}  // namespace
}  // namespace orrery::sim
