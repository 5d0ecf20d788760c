#include "core/cost/mggcn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"

namespace orrery::cost {
namespace {

using Groups = std::vector<std::vector<int>>;
const Groups kHalves{{0, 1, 2, 3}, {4, 5, 6, 7}};
/// n·d = 48 bytes over links of 1 byte/s: nd/6l is 8 s, nd/4l is 12 s.
constexpr double kBytes = 48;

double least_cut_by_enumeration(const Links& links, const std::vector<int>& group) {
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t side = 1; side + 1 < (1U << group.size()); ++side) {
    double cut = 0;
    for (std::size_t a = 0; a < group.size(); ++a)
      for (std::size_t b = 0; b < group.size(); ++b)
        if ((side >> a & 1U) != 0 && (side >> b & 1U) == 0)
          cut += links.between[static_cast<std::size_t>(group[a] * links.gpus + group[b])];
    least = std::min(least, cut);
  }
  return least;
}

TEST(Mggcn, EveryGpuOfADgx1HasSixLinks) {
  for (const Links& links : {dgx1_links(1), dgx1_links_as_assumed(1)})
    for (std::ptrdiff_t gpu = 0; gpu < 8; ++gpu) {
      const auto row = links.between.begin() + 8 * gpu;
      EXPECT_EQ(std::accumulate(row, row + 8, 0.0), 6);
    }
}

/// Links of one GPU into the group: 6 of all, 4 in a half; 2 to the partner.
TEST(Mggcn, AssumedDgx1HasTheLinksThatThePaperCounts) {
  const Links links = dgx1_links_as_assumed(1);

  EXPECT_EQ(broadcast_links(links, std::vector{0, 1, 2, 3, 4, 5, 6, 7}), 6);
  for (const auto& half : kHalves) EXPECT_EQ(broadcast_links(links, half), 4);
  for (int gpu = 0; gpu < 4; ++gpu) EXPECT_EQ(broadcast_links(links, std::vector{gpu, gpu + 4}), 2);
}

/// In half {0,1,2,3}: GPUs 0 and 1 have 4 links, 2 and 3 have 5; one link each for 2-6 and 3-7.
TEST(Mggcn, RealDgx1HasOneLinkForTwoOfThePairs) {
  const Links links = dgx1_links(1);

  EXPECT_EQ(broadcast_links(links, std::vector{0, 1, 2, 3, 4, 5, 6, 7}), 6);
  EXPECT_EQ(broadcast_links(links, kHalves[0]), 4);
  EXPECT_EQ(broadcast_links(links, std::vector{0, 4}), 2);
  EXPECT_EQ(broadcast_links(links, std::vector{1, 5}), 2);
  EXPECT_EQ(broadcast_links(links, std::vector{2, 6}), 1);
  EXPECT_EQ(broadcast_links(links, std::vector{3, 7}), 1);
}

TEST(Mggcn, LeastCutEqualsThatOfEnumeration) {
  for (std::uint32_t round = 0; round < 50; ++round) {
    Links links{7, std::vector<double>(49), 0, 1};
    for (std::uint32_t a = 0; a < 7; ++a)
      for (std::uint32_t b = 0; b < a; ++b)
        links.between[a * 7 + b] = links.between[b * 7 + a] =
            random_bits(1, Purpose::edges, round, a, b)[0] % 4;
    for (const std::vector<int>& group : Groups{{0, 1, 2, 3, 4, 5, 6}, {6, 1, 4, 0}, {2, 5}})
      EXPECT_EQ(broadcast_links(links, group), least_cut_by_enumeration(links, group)) << round;
  }
}

/// Two bridged pairs: no links from one to the other.
TEST(Mggcn, PairsWithoutLinksBetweenCannotBroadcast) {
  Links pairs{4, std::vector<double>(16), 0, 1};
  pairs.between[1] = pairs.between[4] = pairs.between[11] = pairs.between[14] = 4;

  EXPECT_EQ(broadcast_links(pairs, std::vector{0, 1}), 4);
  EXPECT_EQ(broadcast_links(pairs, std::vector{0, 1, 2, 3}), 0);
  EXPECT_THROW(spmm_1d_seconds(pairs, kBytes), ConfigError);
}

/// nd/6l = 8, nd/4l = 12: 1.5D is slower, by the paper's 2/3.
TEST(Mggcn, AssumedDgx1GivesThePapersTimes) {
  const Links links = dgx1_links_as_assumed(1);

  EXPECT_DOUBLE_EQ(spmm_1d_seconds(links, kBytes), 8);
  EXPECT_DOUBLE_EQ(spmm_15d_seconds(links, kBytes, kHalves), 12);
}

/// nd/12l = 4, nd/16l = 3: 1.5D is faster, by the paper's 4/3.
TEST(Mggcn, DgxA100GivesThePapersTimes) {
  const Links links = switched_links(8, 12, 1);

  EXPECT_DOUBLE_EQ(spmm_1d_seconds(links, kBytes), 4);
  EXPECT_DOUBLE_EQ(spmm_15d_seconds(links, kBytes, kHalves), 3);
}

/// Halves: 2·12/4 + 12/1 = 18, that is 3nd/8l, over 1D's 8. With the pairs 0-3 1-2 4-7 5-6, all of
/// two links, the groups {0,1,4,5} and {3,2,7,6} are cut in two by two links: 2·12/2 + 12/2 = 18.
TEST(Mggcn, RealDgx1IsWorseFor15dThanThePaperHasIt) {
  const Links links = dgx1_links(1);

  EXPECT_DOUBLE_EQ(spmm_1d_seconds(links, kBytes), 8);
  EXPECT_DOUBLE_EQ(spmm_15d_seconds(links, kBytes, kHalves), 18);
  EXPECT_DOUBLE_EQ(spmm_15d_seconds(links, kBytes, {{0, 1, 4, 5}, {3, 2, 7, 6}}), 18);
}

/// All 35 ways to halve the GPUs with all 24 ways to pair the halves.
TEST(Mggcn, NoGroupsOfTheRealDgx1BeatThePapers) {
  const Links links = dgx1_links(1);
  int connected = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t half = 1; half < 256; half += 2) {
    Groups groups(2);
    for (int gpu = 0; gpu < 8; ++gpu) groups[(half >> gpu & 1U) != 0 ? 0 : 1].push_back(gpu);
    if (groups[0].size() != 4) continue;
    do {
      try {
        least = std::min(least, spmm_15d_seconds(links, kBytes, groups));
        ++connected;
      } catch (const ConfigError&) {  // a group or a pair without links
      }
    } while (std::next_permutation(groups[1].begin(), groups[1].end()));
  }

  EXPECT_EQ(connected, 85);
  EXPECT_DOUBLE_EQ(least, 18);
}

/// 16 GPUs, 4 copies: one broadcast of 48/4 = 12 bytes, a sum of 2·3/4·12 = 18, over 3 links.
TEST(Mggcn, FourCopiesAreAddedInARing) {
  const Links links = switched_links(16, 3, 1);
  const Groups groups{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};

  EXPECT_DOUBLE_EQ(spmm_15d_seconds(links, kBytes, groups), 10);
}

TEST(Mggcn, OneGpuCommunicatesNothing) {
  EXPECT_EQ(spmm_1d_seconds(switched_links(1, 12, 1), kBytes), 0);
  EXPECT_EQ(spmm_1d_seconds({1, {0}, 0, 1}, kBytes), 0);
}

TEST(Mggcn, OneCopyIs1d) {
  const Links links = dgx1_links(25e9);

  EXPECT_EQ(spmm_15d_seconds(links, kBytes, {{0, 1, 2, 3, 4, 5, 6, 7}}),
            spmm_1d_seconds(links, kBytes));
}

TEST(Mggcn, FasterLinksTakeProportionallyLess) {
  EXPECT_DOUBLE_EQ(spmm_15d_seconds(dgx1_links(4), kBytes, kHalves), 18.0 / 4);
}

TEST(Mggcn, ImpossibleLinksAndGroupsAreRefused) {
  const Links links = dgx1_links(1);
  Links lopsided = links;
  lopsided.between[1] = 3;

  EXPECT_THROW(dgx1_links(0), ConfigError);
  EXPECT_THROW(switched_links(0, 12, 1), ConfigError);
  EXPECT_THROW(switched_links(8, 0, 1), ConfigError);
  EXPECT_THROW(spmm_1d_seconds(lopsided, kBytes), ConfigError);
  EXPECT_THROW(spmm_1d_seconds({3, {0, 1, 1, 0}, 0, 1}, kBytes), ConfigError);
  EXPECT_THROW(spmm_1d_seconds({0, {}, 12, 1}, kBytes), ConfigError);
  EXPECT_THROW(spmm_1d_seconds(links, 0), ConfigError);
  EXPECT_THROW(broadcast_links(links, std::vector<int>{}), ConfigError);
  EXPECT_THROW(broadcast_links(links, std::vector{0, 8}), ConfigError);
  EXPECT_THROW(broadcast_links(links, std::vector{0, 0}), ConfigError);
  EXPECT_THROW(spmm_15d_seconds(links, kBytes, {}), ConfigError);
  EXPECT_THROW(spmm_15d_seconds(links, kBytes, {{0, 1, 2}, {3, 4, 5, 6, 7}}), ConfigError);
  EXPECT_THROW(spmm_15d_seconds(links, kBytes, {{0, 1, 2, 3}, {3, 5, 6, 7}}), ConfigError);
  EXPECT_THROW(spmm_15d_seconds(links, kBytes, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}), ConfigError);
}

/// b = 3 1 4, s = 2 5 1: serial 8 + 8; overlapped 3 + max(1, 2) + max(4, 5) + 1.
TEST(Mggcn, OverlapHidesTheShorterOfEachStage) {
  const std::vector<double> broadcast{3, 1, 4}, product{2, 5, 1};

  EXPECT_DOUBLE_EQ(serial_seconds(broadcast, product), 16);
  EXPECT_DOUBLE_EQ(overlapped_seconds(broadcast, product), 11);
}

TEST(Mggcn, OneStageHasNothingToOverlap) {
  const std::vector<double> broadcast{3}, product{2};

  EXPECT_EQ(overlapped_seconds(broadcast, product), serial_seconds(broadcast, product));
}

/// A second way: the ends of both streams from what each operation waits for.
double end_of_two_streams(const std::vector<double>& broadcast,
                          const std::vector<double>& product) {
  std::vector<double> received, multiplied;
  for (std::size_t i = 0; i < product.size(); ++i) {
    const double buffer_free = i < 2 ? 0 : multiplied[i - 2];
    const double stream_free = i < 1 ? 0 : received[i - 1];
    received.push_back(std::max(buffer_free, stream_free) + broadcast[i]);
    multiplied.push_back(std::max(received[i], i < 1 ? 0 : multiplied[i - 1]) + product[i]);
  }
  return multiplied.back();
}

TEST(Mggcn, OverlapFormulaIsExactForTwoBuffers) {
  for (std::uint32_t round = 0; round < 100; ++round) {
    std::vector<double> broadcast, product;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const auto bits = random_bits(1, Purpose::features, round, i);
      broadcast.push_back(bits[0] % 256);
      product.push_back(bits[1] % 256);
    }

    const double overlapped = overlapped_seconds(broadcast, product);

    EXPECT_DOUBLE_EQ(overlapped, end_of_two_streams(broadcast, product));
    EXPECT_LE(overlapped, serial_seconds(broadcast, product));
  }
}

TEST(Mggcn, StagesWithoutATimeAreRefused) {
  const std::vector<double> one{1}, two{1, 1}, negative{-1}, none;

  EXPECT_THROW(serial_seconds(one, two), ConfigError);
  EXPECT_THROW(overlapped_seconds(none, none), ConfigError);
  EXPECT_THROW(overlapped_seconds(one, negative), ConfigError);
}

/// The paper's V100: 150 of 900 GB/s are gone, 6/5 of the time.
TEST(Mggcn, BroadcastTakesASixthOfTheMemory) {
  EXPECT_DOUBLE_EQ(overlap_slowdown(150e9, 900e9), 1.2);
  EXPECT_THROW(overlap_slowdown(900e9, 900e9), ConfigError);
  EXPECT_THROW(overlap_slowdown(0, 900e9), ConfigError);
}

/// Two layers: 5 buffers of 1000/4 rows of 16 floats.
TEST(Mggcn, BuffersAreLayersPlusThree) {
  EXPECT_DOUBLE_EQ(buffer_bytes(2, 1000, 4, 16, 4), 80000);
  EXPECT_DOUBLE_EQ(buffer_bytes(std::vector<double>{16, 16, 16}, 1000, 4, 4), 80000);
}

/// Widths 8 32 4: shared max(8, 4) = 8 three times, own 32 + 32; 88 floats for 250 rows.
TEST(Mggcn, BuffersOfUnequalWidthsHoldTheNarrowerSide) {
  EXPECT_DOUBLE_EQ(buffer_bytes(std::vector<double>{8, 32, 4}, 1000, 4, 4), 88000);
}

/// papers100M (111,059,956 vertices, 128 features, 172 classes), 3 layers of 208 on 8 GPUs of
/// 81,920 MiB: six buffers of 208 take 69.3 GB, which leaves 16.6 GB for features and tiles.
TEST(Mggcn, LargestHiddenWidthOfPapers100MFits) {
  const double bytes = buffer_bytes(std::vector<double>{128, 208, 208, 172}, 111059956, 8, 4);

  EXPECT_NEAR(bytes, 69.3e9, 0.05e9);
  EXPECT_LT(bytes + 111059956.0 / 8 * 128 * 4, 81920.0 * 1024 * 1024);
}

TEST(Mggcn, BuffersOfNothingAreRefused) {
  EXPECT_THROW(buffer_bytes(0, 1000, 4, 16, 4), ConfigError);
  EXPECT_THROW(buffer_bytes(2, 1000, 0, 16, 4), ConfigError);
  EXPECT_THROW(buffer_bytes(std::vector<double>{16}, 1000, 4, 4), ConfigError);
  EXPECT_THROW(buffer_bytes(std::vector<double>{16, 0}, 1000, 4, 4), ConfigError);
}

}  // namespace
}  // namespace orrery::cost
