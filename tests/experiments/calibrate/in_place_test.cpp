// Factors of operations inside of trainings, from samples made by hand.
#include "experiments/calibrate/in_place.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"

namespace orrery::calibrate {
namespace {

constexpr double kBytesPerMiB = 1 << 20;

double factor(const sim::PriceTable& table, double threads, double bytes) {
  return sim::interpolate(table, std::vector<double>{threads, bytes});
}

TEST(InPlace, FactorsAreRatiosOfSumsAroundEachPoint) {
  const auto tables = fit_in_place({{"spmm", 4 * kBytesPerMiB, 1, 1e-3, 2e-3},
                                    {"spmm", 4 * kBytesPerMiB, 1, 3e-3, 3e-3},
                                    {"spmm", 256 * kBytesPerMiB, 1, 1e-2, 3e-2},
                                    {"gemm", 4 * kBytesPerMiB, 1, 1e-3, 1e-3}});

  const sim::PriceTable& spmm = tables.at("spmm");
  EXPECT_NEAR(factor(spmm, 1, 4 * kBytesPerMiB), 5.0 / 4, 1e-12);
  EXPECT_NEAR(factor(spmm, 1, 256 * kBytesPerMiB), 3, 1e-12);
  EXPECT_NEAR(factor(tables.at("gemm"), 1, 256 * kBytesPerMiB), 1, 1e-12);
  EXPECT_EQ(sim::problem_of(spmm, "spmm"), "");
}

TEST(InPlace, SizesWithoutSamplesTakeTheNearestFactorAndNoSizeGrowsIt) {
  const sim::PriceTable table =
      fit_in_place({{"spmm", 4 * kBytesPerMiB, 2, 1e-3, 2e-3}}).at("spmm");

  for (const double bytes : {1.0, 1e5, 4 * kBytesPerMiB, 1e9, 1e12})
    EXPECT_NEAR(factor(table, 2, bytes), 2, 1e-12) << bytes;
}

TEST(InPlace, ThreadsHaveFactorsOfTheirOwn) {
  const sim::PriceTable table = fit_in_place({{"spmm", 4 * kBytesPerMiB, 1, 1e-3, 1e-3},
                                              {"spmm", 4 * kBytesPerMiB, 4, 1e-3, 4e-3}})
                                    .at("spmm");

  EXPECT_NEAR(factor(table, 1, 4 * kBytesPerMiB), 1, 1e-12);
  EXPECT_NEAR(factor(table, 4, 4 * kBytesPerMiB), 4, 1e-12);
  EXPECT_NEAR(factor(table, 2, 4 * kBytesPerMiB), 2, 1e-12);
}

TEST(InPlace, ASampleBetweenTwoPointsCountsForBoth) {
  const double between =
      4 * kBytesPerMiB * 2.8284271247461903;  // half way to 32 MiB, in logarithms
  const sim::PriceTable table =
      fit_in_place({{"spmm", 4 * kBytesPerMiB, 1, 1, 1}, {"spmm", between, 1, 2, 4}}).at("spmm");

  EXPECT_NEAR(factor(table, 1, 4 * kBytesPerMiB), (1 + 2.0) / (1 + 1.0), 1e-9);
  EXPECT_NEAR(factor(table, 1, 32 * kBytesPerMiB), 2, 1e-9);
}

// Two trainings: factors of the one, 2 and 1, price the other, which took 3 and 1, and the reverse.
TEST(InPlace, ErrorsAreThoseOfATrainingThatWasLeftOut) {
  const std::vector<InPlaceSample> samples{{"spmm", 4 * kBytesPerMiB, 1, 1, 2, 0},
                                           {"gemm", 4 * kBytesPerMiB, 1, 1, 1, 0},
                                           {"spmm", 4 * kBytesPerMiB, 1, 1, 3, 1},
                                           {"gemm", 4 * kBytesPerMiB, 1, 1, 1, 1}};

  const sim::PriceErrors errors = errors_of(samples);

  const double all = std::log(4.0 / 3);  // 2 + 1 for 3 + 1, and the reverse
  EXPECT_NEAR(errors.operations, all, 1e-12);
  EXPECT_NEAR(errors.by_kind.at("spmm"), std::log(1.5) - all, 1e-12);
  EXPECT_NEAR(errors.by_kind.at("gemm"), all, 1e-12);
}

TEST(InPlace, OneTrainingSaysNothingOfErrors) {
  EXPECT_FALSE(errors_of({{"spmm", 4 * kBytesPerMiB, 1, 1, 2, 0}}).known());
}

TEST(InPlace, OperationsOfBatchesNeitherLendFactorsToOthersNorTakeThem) {
  using sim::Operands;
  const std::vector<InPlaceSample> samples{
      {"spmm", 4 * kBytesPerMiB, 1, 1, 2, 0, Operands::of_graph},
      {"spmm", 4 * kBytesPerMiB, 1, 1, 3, 1, Operands::of_graph},
      {"spmm", 4 * kBytesPerMiB, 1, 1, 9, 2, Operands::of_batches}};

  EXPECT_NEAR(factor(fit_in_place(only(samples, Operands::of_graph)).at("spmm"), 1, kBytesPerMiB),
              2.5, 1e-12);
  EXPECT_NEAR(factor(fit_in_place(only(samples, Operands::of_batches)).at("spmm"), 1, kBytesPerMiB),
              9, 1e-12);
  // The only training on batches is priced by none.
  EXPECT_NEAR(errors_of(samples).operations, std::log(1.5), 1e-12);
}

/// Operations of 1, 2 and 3 ms that vary by a tenth on each rank, and by a quarter on both at once; one rank is
/// half as fast.
TEST(InPlace, VariationIsWhatEachRankHasByItself) {
  constexpr int kEpochs = 400, kOperations = 40;
  Sequence draw(3, Purpose::features, 0);
  const auto varied = [&](double share) {
    const std::uint32_t u = draw.word(), v = draw.word();
    return std::exp(share * normal_float(u, v));
  };
  EpochSeconds one(kEpochs), other(kEpochs);
  for (int e = 0; e < kEpochs; ++e) {
    const double common = varied(0.25);
    for (int i = 0; i < kOperations; ++i) {
      one[at(e)].push_back((1 + i % 3) * common * varied(0.1));
      other[at(e)].push_back(2 * (1 + i % 3) * common * varied(0.1));
    }
  }

  EXPECT_NEAR(std::sqrt(squared_variation(one, other)), 0.1, 0.01);
  EXPECT_NEAR(squared_variation(one, one), 0, 1e-12);
}

TEST(InPlace, EverySampleOfATrainingIsOfAnOperationWithAPriceAndRanksDiffer) {
  sim::DeviceProfile profile;
  profile.name = "flat";
  for (const std::string& key : sim::price_keys())
    profile.tables[key] = {{{"threads", {1}}}, {1e-3}, 0};

  const InPlace found =
      in_place_of(train(Effort::tiny, 2, [](double, const std::string&) {}), profile);

  EXPECT_GT(found.variation, 0);
  EXPECT_LE(found.variation, 1);
  ASSERT_GT(found.samples.size(), 30U);
  for (const InPlaceSample& sample : found.samples) {
    EXPECT_NEAR(sample.priced_seconds, 1e-3, 1e-15);
    EXPECT_GT(sample.measured_seconds, 0);
    EXPECT_GT(sample.bytes, 0);
    EXPECT_TRUE(sample.threads == 1 || sample.threads == 2);
  }
  EXPECT_GT(only(found.samples, sim::Operands::of_batches).size(), 30U);
}

}  // namespace
}  // namespace orrery::calibrate
