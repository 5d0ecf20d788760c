#include "core/graph/features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

std::vector<float> read_all(const Features& features) {
  std::vector<Vertex> vertices(static_cast<std::size_t>(features.rows()));
  std::iota(vertices.begin(), vertices.end(), 0);
  std::vector<float> values(static_cast<std::size_t>(features.rows() * features.width()));
  features.read(vertices, 0, features.width(), values.data(), features.width());
  return values;
}

std::shared_ptr<const Features> three_rows() {
  return dense_features(3, 2, {1, 3, 0, 0, 2, 0}, "by hand", false);
}

TEST(FeaturesTest, DenseReadsAnyRowsAndColumnsWithAnyStride) {
  std::vector<float> out(6, -1);
  const std::vector<Vertex> rows{2, 0};

  three_rows()->read(rows, 1, 1, out.data(), 3);

  EXPECT_THAT(out, ElementsAre(0, -1, -1, 3, -1, -1));
}

TEST(FeaturesTest, HalvesAreTheNearestNumbersOfSixteenBits) {
  const auto exact = random_features(300, 7, 5);
  const auto halves = half_features(exact);
  const auto renumbered = permuted(halves, [] {
    std::vector<Vertex> order(300);
    std::iota(order.rbegin(), order.rend(), 0);
    return order;
  }());
  const auto want = read_all(*exact), got = read_all(*halves);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], to_float(to_half(want[i])));

  std::vector<Half> bits(4, Half{1});
  renumbered->read_half(std::vector<Vertex>{299, 0}, 3, 1, bits.data(), 2);

  EXPECT_TRUE(renumbered->half());
  EXPECT_EQ(bits[0].bits, to_half(want[3]).bits);
  EXPECT_EQ(bits[2].bits, to_half(want[299 * 7 + 3]).bits);
  EXPECT_EQ(bits[1].bits, 1);
}

// Rows that were computed are now computed and rounded; rows that were held are held in half the
// bytes.
TEST(FeaturesTest, HalvesOfRowsInMemoryAreThoseOfComputedOnes) {
  const auto computed = random_features(300, 7, 5);
  const auto held = half_features(dense_features(300, 7, read_all(*computed), "held", false));
  const std::vector<Vertex> rows{299, 0};
  std::vector<Half> bits(4), want(4);

  held->read_half(rows, 3, 2, bits.data(), 2);

  half_features(computed)->read_half(rows, 3, 2, want.data(), 2);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(bits[i].bits, want[i].bits);
  EXPECT_EQ(read_all(*held), read_all(*half_features(computed)));
  EXPECT_EQ(half_features(held), held);
  EXPECT_EQ(held->provenance(), "held, rounded to 16 bits");
}

TEST(FeaturesTest, NumbersBeyondHalvesAreRefused) {
  try {
    half_features(dense_features(3, 2, {1, 3, 0, -70000, 2, 0}, "by hand", false));
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "dataset.features_type: the features of vertex 1 go beyond ±65504, the limit of "
                 "float16: use float32, or set dataset.row_normalise");
  }
}

// Row sums 4, 0, 2.
TEST(FeaturesTest, RowNormalisedRowsSumToOneOrZero) {
  const auto normalised = row_normalised(three_rows());

  EXPECT_THAT(read_all(*normalised), ElementsAre(0.25, 0.75, 0, 0, 1, 0));
  EXPECT_EQ(normalised->provenance(), "by hand, rows divided by their sums");
}

TEST(FeaturesTest, PermutedTakesOldRows) {
  EXPECT_THAT(read_all(*permuted(three_rows(), {2, 0, 1})), ElementsAre(2, 0, 1, 3, 0, 0));
}

TEST(FeaturesTest, BinaryMeansOnlyZerosAndOnes) {
  EXPECT_TRUE(dense_features(1, 2, {0, 1}, "", false)->binary());
  EXPECT_FALSE(three_rows()->binary());
  EXPECT_FALSE(row_normalised(dense_features(1, 2, {0, 1}, "", false))->binary());
}

TEST(FeaturesTest, RandomIsStandardNormalAndSaysSo) {
  const auto features = random_features(2000, 7, 5);
  const std::vector<float> values = read_all(*features);
  double sum = 0, square = 0;
  for (const float x : values) {
    sum += x;
    square += x * x;
  }

  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 0.04);  // 4.7 standard errors
  EXPECT_NEAR(square / n, 1, 0.06);
  EXPECT_TRUE(features->made_up());
  EXPECT_EQ(features->provenance(), "generated (random, 7 columns)");
}

TEST(FeaturesTest, RandomEntryDependsOnSeedRowAndColumnOnly) {
  const auto features = random_features(600, 5, 9);
  const std::vector<float> values = read_all(*features);
  const ThreadPool pool(3);

  EXPECT_EQ(read_all(*features), values);
  float one = 0;
  const std::vector<Vertex> row{417};
  features->read(row, 3, 1, &one, 1);
  EXPECT_EQ(one, values[417 * 5 + 3]);
  EXPECT_NE(read_all(*random_features(600, 5, 10)), values);
}

// With no noise to speak of (distance 1e6), the mean squared distance of two centres is distance².
TEST(FeaturesTest, ClassCentresAreTheGivenDistanceApart) {
  constexpr std::int64_t kClasses = 40, kWidth = 64;
  std::vector<std::int32_t> labels(kClasses);
  std::iota(labels.begin(), labels.end(), 0);

  const std::vector<float> values = read_all(*class_features(labels, kClasses, kWidth, 1e6, 3));

  double square = 0;
  for (std::size_t a = 0; a < kClasses; ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (std::size_t c = 0; c < kWidth; ++c)
        square += std::pow(values[a * kWidth + c] - values[b * kWidth + c], 2);
  EXPECT_NEAR(std::sqrt(square / (kClasses * (kClasses - 1) / 2)), 1e6, 3e4);
}

}  // namespace
}  // namespace orrery
