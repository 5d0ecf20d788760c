#include "core/cost/deal.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace orrery::cost {
namespace {

/// 8 nodes, 4 features, 2 × 2 machines, as in the paper's Figures 6 to 10; Z entries per column.
DealSetting toy(double nonzeros_per_column) { return {8, 4, nonzeros_per_column, 2, 2}; }

/// Each machine has 4 rows of 2 columns and makes 4 rows of 4: it receives the 4 × 2 of the other.
TEST(Deal, ReducingReceivesAllOtherPartialSums) {
  EXPECT_DOUBLE_EQ(gemm_reduce_received_words(toy(0), 4), 8);
  EXPECT_DOUBLE_EQ(gemm_reduce_held_words(toy(0), 4), 16);
}

/// A block of 2 rows of 2 columns comes, and one of 2 rows of 2 columns of the result.
TEST(Deal, RotatingReceivesBlocksTwice) {
  EXPECT_DOUBLE_EQ(gemm_rotate_received_words(toy(0), 4), 8);
  EXPECT_DOUBLE_EQ(gemm_rotate_held_words(toy(0), 4), 8);
}

/// 2/M of the words and 1/M of the memory for a square W; 8 nodes × 4 machines: 3·100·16/(1·4) =
/// 1200 against 3·25·32/4 = 600.
TEST(Deal, RotatingSavesHalfTheMachinesOfAPart) {
  const DealSetting four{100, 16, 0, 1, 4};

  EXPECT_DOUBLE_EQ(gemm_reduce_received_words(four, 16), 1200);
  EXPECT_DOUBLE_EQ(gemm_rotate_received_words(four, 16), 600);
  EXPECT_DOUBLE_EQ(gemm_reduce_held_words(four, 16), 4 * gemm_rotate_held_words(four, 16));
}

/// 3·25·(16 + 4)/4 = 375 words where reducing receives 3·100·4/4 = 300.
TEST(Deal, RotatingLosesWhenTheResultIsNarrow) {
  const DealSetting four{100, 16, 0, 1, 4};

  EXPECT_DOUBLE_EQ(gemm_rotate_received_words(four, 4), 375);
  EXPECT_DOUBLE_EQ(gemm_reduce_received_words(four, 4), 300);
}

TEST(Deal, OneMachineReceivesNothing) {
  const DealSetting one{100, 16, 5, 1, 1};

  EXPECT_EQ(gemm_reduce_received_words(one, 16), 0);
  EXPECT_EQ(gemm_rotate_received_words(one, 16), 0);
  EXPECT_EQ(spmm_fetch_words(one).total(), 0);
  EXPECT_EQ(spmm_exchange_words(one).total(), 0);
  EXPECT_EQ(spmm_2d_words(one).total(), 0);
  EXPECT_EQ(sddmm_duplicate_words(one).total(), 0);
  EXPECT_EQ(sddmm_split_words(one).total(), 0);
}

TEST(Deal, OnePartNeedsNoneOfAnother) {
  const DealSetting one_part{100, 16, 5, 1, 4};

  EXPECT_EQ(spmm_fetch_words(one_part).total(), 0);
  EXPECT_EQ(spmm_exchange_words(one_part).total(), 0);
  EXPECT_GT(spmm_2d_words(one_part).total(), 0);
}

/// Two entries fall on two parts in four ways; three of them touch the first part.
TEST(Deal, NeededShareCountsTheWaysToTouchAPart) {
  EXPECT_DOUBLE_EQ(needed_share(0, 2), 0);
  EXPECT_DOUBLE_EQ(needed_share(1, 4), 0.25);
  EXPECT_DOUBLE_EQ(needed_share(2, 2), 0.75);
  EXPECT_DOUBLE_EQ(needed_share(3, 1), 1);
  EXPECT_NEAR(needed_share(1e4, 4), 1, 1e-12);
}

/// A second way: all 27 ways to put three entries on three parts.
TEST(Deal, NeededShareIsThatOfAllPlacements) {
  int touching = 0;
  for (int way = 0; way < 27; ++way)
    touching += way % 3 == 0 || way / 3 % 3 == 0 || way / 9 == 0 ? 1 : 0;

  EXPECT_DOUBLE_EQ(needed_share(3, 3), touching / 27.0);
}

/// Z = 2: 4 remote rows, 3/4 of them needed, 2 features of each.
TEST(Deal, FetchingReceivesNumbersAndRows) {
  const SpmmWords words = spmm_fetch_words(toy(2));

  EXPECT_DOUBLE_EQ(words.graph, 3);
  EXPECT_DOUBLE_EQ(words.features, 6);
  EXPECT_DOUBLE_EQ(words.total(), 9);
}

/// Figure 8: machine 0 needs rows 5, 6 and 7 of the four remote ones, which is what Z = 2 expects.
TEST(Deal, FetchingReceivesWhatFigure8Shows) {
  const double rows = 3, columns = 2;

  EXPECT_DOUBLE_EQ(spmm_fetch_words(toy(2)).graph, rows);
  EXPECT_DOUBLE_EQ(spmm_fetch_words(toy(2)).features, rows * columns);
}

/// Z = 2: a part's 4 columns have 8 entries, 4 of them in the other part's rows, two words each;
/// 4 rows of 2 columns come back.
TEST(Deal, ExchangingReceivesEntriesAndPartialRows) {
  const SpmmWords words = spmm_exchange_words(toy(2));

  EXPECT_DOUBLE_EQ(words.graph, 8);
  EXPECT_DOUBLE_EQ(words.partials, 8);
  EXPECT_DOUBLE_EQ(words.total(), 16);
}

/// Z = 2: of a tile's 4 columns 3 are needed, 12 words, a quarter of them local: 9. Their 2 · 3
/// numbers likewise: 4.5. Partial sums: 4 rows of 2 columns from one machine.
TEST(Deal, TwoDimensionsAlsoReceivePartialSums) {
  const SpmmWords words = spmm_2d_words(toy(2));

  EXPECT_DOUBLE_EQ(words.graph, 4.5);
  EXPECT_DOUBLE_EQ(words.features, 9);
  EXPECT_DOUBLE_EQ(words.partials, 8);
}

/// A second way: on 2 × 3 machines, 12 nodes of 6 features and a full graph, each machine looks for
/// the features of its tile's 4 columns among the 6 rows by 2 columns that it holds.
TEST(Deal, TwoDimensionsLackWhatATileDoesNotHold) {
  int missing = 0;
  for (int p = 0; p < 2; ++p)
    for (int m = 0; m < 3; ++m)
      for (int node = 4 * m; node < 4 * m + 4; ++node)
        for (int feature = 0; feature < 6; ++feature)
          missing += node / 6 == p && feature / 2 == m ? 0 : 1;

  EXPECT_DOUBLE_EQ(spmm_2d_words({12, 6, 1e6, 2, 3}).features, missing / 6.0);
}

TEST(Deal, FetchingNeverReceivesMoreThanTheOthers) {
  for (const double z : {0.5, 1.0, 4.0, 50.0, 1000.0})
    for (const double p : {2.0, 4.0, 16.0})
      for (const double m : {1.0, 2.0, 8.0}) {
        const DealSetting setting{1e5, 128, z, p, m};
        const double ours = spmm_fetch_words(setting).total();
        EXPECT_LE(ours, spmm_exchange_words(setting).total()) << z << ' ' << p << ' ' << m;
        EXPECT_LE(ours, spmm_2d_words(setting).total()) << z << ' ' << p << ' ' << m;
      }
}

/// The paper's example for machine 0: 3 remote nodes (12 values), 3 local ones (6) and 4
/// destinations (8).
TEST(Deal, PapersExampleReceives26Values) {
  EXPECT_DOUBLE_EQ(sddmm_input_words(3, 3, 4, 4, 2), 26);
}

/// Z = 2: expected 3 remote and 3 local nodes, so the paper's 26 again.
TEST(Deal, DuplicatingReceivesWhatTheExampleExpects) {
  EXPECT_DOUBLE_EQ(sddmm_duplicate_words(toy(2)).total(), 26);
}

/// Z = 2, 2 of 8 rows: u = 1 − (3/4)² = 7/16. 1.75 remote nodes · 4 + (1.75 local + 2 rows) · 2 =
/// 14.5, and half of the part's 8 entries. The paper's machines receive 17 and 19.
TEST(Deal, SplittingReceivesFewerRowsAndSomeResults) {
  const SddmmWords words = sddmm_split_words(toy(2));

  EXPECT_DOUBLE_EQ(words.features, 14.5);
  EXPECT_DOUBLE_EQ(words.results, 4);
}

TEST(Deal, BothApproachesAgreeOnOneFeaturePart) {
  const DealSetting setting{1000, 64, 10, 8, 1};

  EXPECT_DOUBLE_EQ(sddmm_duplicate_words(setting).total(), sddmm_split_words(setting).total());
}

/// More feature parts: the input of (ii) shrinks faster than that of (i).
TEST(Deal, SplittingGainsWithFeatureParts) {
  double last = 1;
  for (const double m : {2.0, 4.0, 8.0}) {
    const DealSetting setting{1e5, 128, 10, 8 / m, m};
    const double share =
        sddmm_split_words(setting).features / sddmm_duplicate_words(setting).features;
    EXPECT_LT(share, last);
    last = share;
  }
}

/// A second way: every value that a machine needs is looked up in what it holds. 12 nodes on 3 × 2
/// machines, 4 features; node v has entries in rows v, v + 1 and v + 5, modulo 12.
struct Machine {
  int part, slice;
  bool holds(int node, int feature) const { return node / 4 == part && feature / 2 == slice; }
};

bool has_entry(int row, int column) {
  const int distance = (row - column + 12) % 12;
  return distance == 0 || distance == 1 || distance == 5;
}

double received_by_enumeration(const Machine& machine, int first_row, int rows) {
  std::set<std::pair<int, int>> sources, destinations;
  for (int row = first_row; row < first_row + rows; ++row)
    for (int column = 0; column < 12; ++column)
      for (int feature = 0; feature < 4 && has_entry(row, column); ++feature) {
        if (!machine.holds(column, feature)) sources.insert({column, feature});
        if (!machine.holds(row, feature)) destinations.insert({row, feature});
      }
  return static_cast<double>(sources.size() + destinations.size());
}

double received_by_formula(const Machine& machine, int first_row, int rows) {
  int remote = 0, local = 0;
  for (int column = 0; column < 12; ++column) {
    bool needed = false;
    for (int row = first_row; row < first_row + rows; ++row)
      needed = needed || has_entry(row, column);
    if (needed) ++(column / 4 == machine.part ? local : remote);
  }
  return sddmm_input_words(remote, local, rows, 4, 2);
}

TEST(Deal, InputOfSddmmIsWhatAMachineDoesNotHold) {
  for (int part = 0; part < 3; ++part)
    for (int slice = 0; slice < 2; ++slice) {
      const Machine machine{part, slice};
      for (const auto& [first, rows] : {std::pair{4 * part, 4}, {4 * part + 2 * slice, 2}})
        EXPECT_EQ(received_by_formula(machine, first, rows),
                  received_by_enumeration(machine, first, rows));
    }
}

TEST(Deal, ImpossibleSettingsAreRefused) {
  EXPECT_THROW(gemm_reduce_received_words({0, 4, 1, 2, 2}, 4), ConfigError);
  EXPECT_THROW(gemm_reduce_held_words(toy(1), 0), ConfigError);
  EXPECT_THROW(gemm_rotate_received_words({8, 4, 1, 2, 0}, 4), ConfigError);
  EXPECT_THROW(gemm_rotate_held_words({8, 0, 1, 2, 2}, 4), ConfigError);
  EXPECT_THROW(needed_share(-1, 2), ConfigError);
  EXPECT_THROW(needed_share(1, 0), ConfigError);
  EXPECT_THROW(spmm_fetch_words(toy(-1)), ConfigError);
  EXPECT_THROW(spmm_exchange_words({8, 4, 1, 0, 2}), ConfigError);
  EXPECT_THROW(spmm_2d_words({8, 4, 1, 2, 0}), ConfigError);
  EXPECT_THROW(sddmm_input_words(-1, 3, 4, 4, 2), ConfigError);
  EXPECT_THROW(sddmm_input_words(3, 3, 4, 0, 2), ConfigError);
  EXPECT_THROW(sddmm_duplicate_words({8, 4, -1, 2, 2}), ConfigError);
  EXPECT_THROW(sddmm_split_words({8, 4, 1, 2, 0.5}), ConfigError);
}

}  // namespace
}  // namespace orrery::cost
