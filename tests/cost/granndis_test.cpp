#include "core/cost/granndis.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.hpp"

namespace orrery::cost {
namespace {

/// 2 servers of 4 GPUs, 800 vertices of degree 10: per GPU 100 vertices and 1000 edges.
GranndisRun small() { return {800, 8000, 2, 4, 50, 1000, 100}; }

/// A row of 64 floats has 256 bytes.
TEST(Granndis, RatesAreInRows) { EXPECT_DOUBLE_EQ(vertices_per_second(4e9, 64, 4), 15625000); }

/// Compute 100/50 = 2 s. Exchange 1000 · (3/8 / 1000 + 1/2 / 100) = 0.375 + 5 s.
TEST(Granndis, PreviousTimeIsThatOfEquation3) {
  EXPECT_DOUBLE_EQ(previous_seconds(small()), 7.375);
}

/// Growth 3: compute 300/50 = 6 s. Exchange 3000 · (3/4)/1000 = 2.25 s.
TEST(Granndis, PreloadTimeIsThatOfEquation4) {
  EXPECT_DOUBLE_EQ(preload_seconds(small(), 3), 8.25);
}

TEST(Granndis, OneGpuCommunicatesNothing) {
  const GranndisRun one{800, 8000, 1, 1, 50, 1000, 100};

  EXPECT_DOUBLE_EQ(previous_seconds(one), 16);
  EXPECT_DOUBLE_EQ(preload_seconds(one, 1), 16);
  EXPECT_DOUBLE_EQ(sampling_seconds(one, 1), 16);
}

TEST(Granndis, OneServerGainsNothingFromPreloading) {
  const GranndisRun one{800, 8000, 1, 4, 50, 1000, 100};

  EXPECT_DOUBLE_EQ(preload_seconds(one, 1), previous_seconds(one));
}

/// 2^3 = 8, 2·3 = 6; 2^5 = 32 is over the 16 GPUs of 4 × 4.
TEST(Granndis, GrowthIsLinearAsPrintedOrExponentialUpToTheCap) {
  EXPECT_DOUBLE_EQ(dependency_growth(2, 3, 16), 6);
  EXPECT_DOUBLE_EQ(dependency_growth(2, 3, 16, Growth::exponential), 8);
  EXPECT_DOUBLE_EQ(dependency_growth(2, 5, 16, Growth::exponential), 16);
  EXPECT_DOUBLE_EQ(dependency_growth(2, 56, 16), 112);
  EXPECT_DOUBLE_EQ(dependency_growth(2, 56, 1, Growth::exponential), 1);
}

TEST(Granndis, GrowthOverAllGpusIsRefusedNotCut) {
  EXPECT_TRUE(preload_condition_holds(6, 4, 4));
  EXPECT_TRUE(preload_condition_holds(16, 4, 4));
  EXPECT_FALSE(preload_condition_holds(112, 4, 4));
  EXPECT_FALSE(preload_condition_holds(1, 4, 4));
  EXPECT_THROW(preload_seconds(small(), 8.5), ConfigError);
  EXPECT_THROW(preload_seconds(small(), 0.5), ConfigError);
}

/// The paper's example: (2·3 − 1)/10 = "at least half"; with 2^3 it would be 7/10.
TEST(Granndis, BreakEvenOfThePapersExampleIsHalf) {
  EXPECT_DOUBLE_EQ(preload_break_even(dependency_growth(2, 3, 16), 10), 0.5);
  EXPECT_DOUBLE_EQ(preload_break_even(dependency_growth(2, 3, 16, Growth::exponential), 10), 0.7);
}

/// Growth 3: compute 2·100/50 = 4 s more, exchange 1000/100 = 10 s less.
TEST(Granndis, RoughGainIsThatOfEquation6) {
  EXPECT_DOUBLE_EQ(preload_extra_seconds(small(), 3), -6);
}

/// At C = ratio · B_external Eq. 6 is zero, and its sign is that of Eq. 4 − Eq. 3 where its
/// approximations hold: 1000 servers, internal links a billion times faster.
TEST(Granndis, BreakEvenIsWhereTheTimesAreEqual) {
  for (const double around : {0.9, 1.0, 1.1}) {
    GranndisRun run{1e6, 1e7, 1000, 4, 0, 1e12, 1000};
    run.compute_vertices_per_second = around * preload_break_even(6, 10) * 1000;

    const double rough = preload_extra_seconds(run, 6);
    const double exact = preload_seconds(run, 6) - previous_seconds(run);

    EXPECT_NEAR(rough, exact, 2e-3 * previous_seconds(run));
    if (around < 1) {
      EXPECT_GT(exact, 0);
    } else if (around > 1) {
      EXPECT_LT(exact, 0);
    } else {
      EXPECT_NEAR(rough, 0, 1e-9);
    }
  }
}

/// 16^(1/2) = 4 per hop: 8 or 16 at two hops.
TEST(Granndis, SampledGrowthFollowsTheFanout) {
  EXPECT_DOUBLE_EQ(sampled_growth(16, 2, 0.5, 32), 8);
  EXPECT_DOUBLE_EQ(sampled_growth(16, 2, 0.5, 32, Growth::exponential), 16);
  EXPECT_DOUBLE_EQ(sampled_growth(16, 2, 0.5, 12, Growth::exponential), 12);
}

TEST(Granndis, SamplingMustShrinkTheGrowth) {
  EXPECT_TRUE(sampling_condition_holds(2, 6, 4, 4));
  EXPECT_FALSE(sampling_condition_holds(6, 6, 4, 4));
  EXPECT_FALSE(sampling_condition_holds(1, 6, 4, 4));
  EXPECT_FALSE(sampling_condition_holds(2, 17, 4, 4));
}

/// Growth 2: compute 200/50 = 4 s. Exchange as printed 2000·7/1000 = 14 s, consistent 1.5 s.
TEST(Granndis, SamplingTimeIsThatOfEquation8) {
  EXPECT_DOUBLE_EQ(sampling_seconds(small(), 2), 18);
  EXPECT_DOUBLE_EQ(sampling_seconds(small(), 2, InternalFactor::as_preload), 5.5);
  EXPECT_DOUBLE_EQ(sampling_seconds(small(), 3, InternalFactor::as_preload),
                   preload_seconds(small(), 3));
}

/// 2·1000·64·3·1.5/(2·4) = 72,000 elements.
TEST(Granndis, SampledMemoryIsThatOfTheLaterVersion) {
  EXPECT_DOUBLE_EQ(sampled_memory_bytes(1000, 64, 3, 1.5, 2, 4, 4), 288000);
}

/// Twice the servers with 1.5 times the expansion: 1.5/2.
TEST(Granndis, MemoryRatioIsThatOfTheMemories) {
  const double before = sampled_memory_bytes(1000, 64, 3, 1.2, 2, 4, 4);
  const double after = sampled_memory_bytes(1000, 64, 3, 1.8, 4, 4, 4);

  EXPECT_DOUBLE_EQ(sampled_memory_ratio(1.5, 2), 0.75);
  EXPECT_NEAR(after / before, 0.75, 1e-12);
}

TEST(Granndis, FasterLinksNeverCost) {
  GranndisRun run = small();
  double last_previous = previous_seconds(run), last_preload = preload_seconds(run, 3);
  for (int i = 0; i < 10; ++i) {
    run.internal_vertices_per_second *= 2;
    run.external_vertices_per_second *= 2;
    EXPECT_LT(previous_seconds(run), last_previous);
    EXPECT_LT(preload_seconds(run, 3), last_preload);
    last_previous = previous_seconds(run);
    last_preload = preload_seconds(run, 3);
  }
}

TEST(Granndis, ImpossibleArgumentsAreRefused) {
  GranndisRun run = small();
  run.compute_vertices_per_second = 0;

  EXPECT_THROW(previous_seconds(run), ConfigError);
  EXPECT_THROW(preload_seconds(run, 2), ConfigError);
  EXPECT_THROW(preload_extra_seconds(small(), 0.5), ConfigError);
  EXPECT_THROW(preload_break_even(1, 10), ConfigError);
  EXPECT_THROW(preload_break_even(6, 0), ConfigError);
  EXPECT_THROW(dependency_growth(0.5, 3, 16), ConfigError);
  EXPECT_THROW(dependency_growth(2, 0, 16), ConfigError);
  EXPECT_THROW(sampled_growth(15, 1, 1, 16), ConfigError);
  EXPECT_THROW(sampling_seconds(small(), 9), ConfigError);
  EXPECT_THROW(sampled_memory_bytes(1000, 64, 3, 2.5, 2, 4, 4), ConfigError);
  EXPECT_THROW(sampled_memory_ratio(1, 0), ConfigError);
  EXPECT_THROW(vertices_per_second(1e9, std::numeric_limits<double>::quiet_NaN(), 4), ConfigError);
}

}  // namespace
}  // namespace orrery::cost
