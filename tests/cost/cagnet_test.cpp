#include "core/cost/cagnet.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/error.hpp"

namespace orrery::cost {
namespace {

/// n·f = 6400 words, 12,800 entries.
constexpr Product kSmall{640, 10, 12800};

void expect_traffic(const Traffic& traffic, double words, double messages) {
  EXPECT_DOUBLE_EQ(traffic.words, words);
  EXPECT_DOUBLE_EQ(traffic.messages, messages);
}

/// 3 µs per message and 2 ns per word.
TEST(Cagnet, TimeIsThatOfMessagesAndWords) {
  EXPECT_DOUBLE_EQ(traffic_seconds({1000, 8}, 3e-6, 2e-9), 26e-6);
}

TEST(Cagnet, OneProcessReceivesNothing) {
  expect_traffic(spmm_1d_traffic(kSmall, 1), 0, 0);
  expect_traffic(spmm_1d_sparse_traffic(kSmall, 0, 1), 0, 0);
  expect_traffic(spmm_15d_traffic(kSmall, 1, 1), 0, 0);
  expect_traffic(spmm_2d_traffic(kSmall, 1), 0, 0);
  expect_traffic(gemm_2d_traffic(kSmall, 1), 0, 0);
  expect_traffic(spmm_3d_traffic(kSmall, 1), 0, 0);
  expect_traffic(epoch_1d_traffic(kSmall, 3, 0, 1), 0, 0);
  expect_traffic(epoch_15d_traffic(kSmall, 3, 1, 1), 0, 0);
  expect_traffic(epoch_2d_traffic(kSmall, 3, 1), 0, 0);
  expect_traffic(epoch_3d_traffic(kSmall, 3, 1), 0, 0);
}

/// 15 of 16 blocks; 16 broadcasts of lg 16 = 4.
TEST(Cagnet, OneDimensionReceivesAllOtherBlocks) {
  expect_traffic(spmm_1d_traffic(kSmall, 16), 6000, 64);
}

/// 30 rows of 10; all 600 remote rows are what the broadcasts bring.
TEST(Cagnet, SparsityAwareReceivesOnlyRowsNeeded) {
  expect_traffic(spmm_1d_sparse_traffic(kSmall, 30, 16), 300, 15);
  EXPECT_DOUBLE_EQ(spmm_1d_sparse_traffic(kSmall, 600, 16).words,
                   spmm_1d_traffic(kSmall, 16).words);
}

/// c = 2: 6400/2 − 400 + 2·400; 4 broadcasts among 8, of 3 messages, and 2 to add.
TEST(Cagnet, OneAndAHalfDimensionsTradeCopiesForWords) {
  expect_traffic(spmm_15d_traffic(kSmall, 16, 2), 3600, 14);
  expect_traffic(spmm_15d_traffic(kSmall, 16, 1), 6000, 64);
}

/// A second way: every process of the grid counts the blocks that it receives.
TEST(Cagnet, OneAndAHalfDimensionsAreTheMeanOverTheGrid) {
  for (const int copies : {1, 2, 4}) {
    const int processes = 32, rows = processes / copies, stages = rows / copies;
    if (rows % copies != 0) continue;
    const double block = 6400.0 / rows;
    double words = 0;
    for (int r = 0; r < rows; ++r)
      for (int column = 0; column < copies; ++column) {
        for (int s = 0; s < stages; ++s)
          if (column * stages + s != r) words += block;
        words += 2.0 * (copies - 1) * block / copies;
      }

    EXPECT_DOUBLE_EQ(spmm_15d_traffic(kSmall, processes, copies).words, words / processes);
  }
}

/// √(32/2) = 4, and no neighbour of it moves less.
TEST(Cagnet, BestReplicationMovesLeast) {
  EXPECT_DOUBLE_EQ(best_replication(32), 4);
  EXPECT_DOUBLE_EQ(best_replication(1), 1);
  const double least = spmm_15d_traffic(kSmall, 32, 4).words;
  for (const double copies : {1.0, 2.0, 3.9, 4.1, 5.0})
    EXPECT_GT(spmm_15d_traffic(kSmall, 32, copies).words, least) << copies;
}

/// 3·(12800 + 6400)/16 and 3·6400/16; 4 stages of two, or one, broadcasts of lg 4.
TEST(Cagnet, TwoDimensionsReceiveBothOperands) {
  expect_traffic(spmm_2d_traffic(kSmall, 16), 3600, 16);
  expect_traffic(gemm_2d_traffic(kSmall, 16), 1200, 8);
}

/// q = 4: 3·(12800 + 2·6400)/64 and 2·4·2 + 3.
TEST(Cagnet, ThreeDimensionsAlsoAddOverTheLayers) {
  expect_traffic(spmm_3d_traffic(kSmall, 64), 1200, 19);
}

TEST(Cagnet, MoreDimensionsMoveLessOnManyProcesses) {
  const Product large{1e6, 100, 1e8};
  const double p = 4096;

  EXPECT_GT(spmm_1d_traffic(large, p).words, spmm_2d_traffic(large, p).words);
  EXPECT_GT(spmm_2d_traffic(large, p).words, spmm_3d_traffic(large, p).words);
}

TEST(Cagnet, OneDimensionDoesNotScaleAndTwoDo) {
  EXPECT_LT(spmm_1d_traffic(kSmall, 4).words, spmm_1d_traffic(kSmall, 64).words);
  EXPECT_GT(spmm_2d_traffic(kSmall, 4).words, spmm_2d_traffic(kSmall, 64).words);
}

/// 6400/64 = 100 words, twice that, and n·f/16.
TEST(Cagnet, CopiesAndPartialSumsTakeMemory) {
  EXPECT_DOUBLE_EQ(held_words_1d(kSmall, 64), 100);
  EXPECT_DOUBLE_EQ(held_words_15d(kSmall, 64, 2), 200);
  EXPECT_DOUBLE_EQ(held_words_3d(kSmall, 64), 400);
}

/// 3 layers of 600·10 + 6400 + 100 words and 3·4 messages.
TEST(Cagnet, EpochOf1dIsThePapersTotal) {
  expect_traffic(epoch_1d_traffic(kSmall, 3, 600, 16), 37500, 36);
}

/// 3 layers of 2·3600 + 2·100·7/8 words and 2·14 + 14 messages.
TEST(Cagnet, EpochOf15dIsTwoProductsAndAGradient) {
  expect_traffic(epoch_15d_traffic(kSmall, 3, 16, 2), 22125, 126);
}

/// 3 layers of (8·6400 + 2·12800)/4 + 100 words and 5·4 + 3·4 messages.
TEST(Cagnet, EpochOf2dIsThePapersTotal) {
  expect_traffic(epoch_2d_traffic(kSmall, 3, 16), 57900, 96);
}

/// 3 layers of (2·12800 + 12·6400)/16 words and 4·4 messages.
TEST(Cagnet, EpochOf3dIsThePapersTotal) {
  expect_traffic(epoch_3d_traffic(kSmall, 3, 64), 19200, 48);
}

TEST(Cagnet, ImpossibleGridsAreRefused) {
  EXPECT_THROW(traffic_seconds({1, 1}, -1, 0), ConfigError);
  EXPECT_THROW(traffic_seconds({1, 1}, 0, -1), ConfigError);
  EXPECT_THROW(spmm_1d_traffic(kSmall, 0), ConfigError);
  EXPECT_THROW(spmm_1d_traffic({0, 10, 0}, 4), ConfigError);
  EXPECT_THROW(spmm_1d_sparse_traffic(kSmall, 641, 16), ConfigError);
  EXPECT_THROW(spmm_1d_sparse_traffic(kSmall, -1, 16), ConfigError);
  EXPECT_THROW(spmm_1d_sparse_traffic(kSmall, 1, 1), ConfigError);
  EXPECT_THROW(spmm_15d_traffic(kSmall, 16, 5), ConfigError);
  EXPECT_THROW(spmm_15d_traffic(kSmall, 16, 0.5), ConfigError);
  EXPECT_THROW(best_replication(0), ConfigError);
  EXPECT_THROW(spmm_2d_traffic(kSmall, 8), ConfigError);
  EXPECT_THROW(spmm_2d_traffic({640, 10, 0}, 16), ConfigError);
  EXPECT_THROW(gemm_2d_traffic(kSmall, 8), ConfigError);
  EXPECT_THROW(spmm_3d_traffic(kSmall, 16), ConfigError);
  EXPECT_THROW(held_words_15d(kSmall, 2, 2), ConfigError);
  EXPECT_THROW(held_words_3d(kSmall, 9), ConfigError);
  EXPECT_THROW(epoch_1d_traffic(kSmall, 3, -1, 16), ConfigError);
  EXPECT_THROW(epoch_15d_traffic(kSmall, 0, 16, 2), ConfigError);
  EXPECT_THROW(epoch_2d_traffic(kSmall, 0, 16), ConfigError);
  EXPECT_THROW(epoch_3d_traffic(kSmall, 3, 16), ConfigError);
}

}  // namespace
}  // namespace orrery::cost
