// The seeds of steps: every training vertex once an epoch, as many steps on all ranks.
#include "core/sample/seeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/base/index.hpp"

namespace orrery {
namespace {

using Lists = std::vector<std::vector<Vertex>>;

std::vector<Vertex> numbers(Vertex first, Vertex count, Vertex step = 1) {
  std::vector<Vertex> list;
  for (Vertex i = 0; i < count; ++i) list.push_back(first + i * step);
  return list;
}

std::vector<Vertex> sorted(std::vector<Vertex> list) {
  std::sort(list.begin(), list.end());
  return list;
}

TEST(Seeds, FromAllAStepHasTheSameOnAnyNumberOfRanks) {
  const auto training = numbers(5, 103, 3);
  const Seeds one = Seeds::from_all(training, 1, 20, 7);
  EXPECT_EQ(one.steps(), 6);
  for (const int ranks : {2, 3, 4, 25}) {
    const Seeds several = Seeds::from_all(training, ranks, 20, 7);
    ASSERT_EQ(several.steps(), one.steps());
    for (int step = 0; step < one.steps(); ++step) {
      std::vector<Vertex> together;
      std::size_t most = 0, least = 1000;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto own = several.of(rank, 2, step);
        together.insert(together.end(), own.begin(), own.end());
        most = std::max(most, own.size());
        least = std::min(least, own.size());
      }
      EXPECT_EQ(together, one.of(0, 2, step));
      EXPECT_LE(most - least, 1U);
      EXPECT_EQ(several.total(step), std::ssize(together));
    }
  }
}

TEST(Seeds, AnEpochHasEveryTrainingVertexOnceInAnOrderOfItsOwn) {
  const auto training = numbers(5, 103, 3);
  const Seeds seeds = Seeds::from_all(training, 3, 20, 7);
  const auto order = [&](const Seeds& of, int epoch) {
    std::vector<Vertex> list;
    for (int step = 0; step < of.steps(); ++step)
      for (int rank = 0; rank < 3; ++rank) {
        const auto own = of.of(rank, epoch, step);
        list.insert(list.end(), own.begin(), own.end());
      }
    return list;
  };
  EXPECT_EQ(sorted(order(seeds, 0)), training);
  EXPECT_EQ(sorted(order(seeds, 1)), training);
  EXPECT_NE(order(seeds, 0), order(seeds, 1));
  EXPECT_NE(order(seeds, 0), training);
  EXPECT_EQ(order(seeds, 4), order(Seeds::from_all(training, 3, 20, 7), 4));  // asked for anew
  EXPECT_NE(order(seeds, 4), order(Seeds::from_all(training, 3, 20, 8), 4));
}

TEST(Seeds, FromTheirOwnRanksThatHaveFewerEndWithEmptySteps) {
  const Seeds seeds = Seeds::from_own({numbers(0, 9), {}, numbers(20, 1)}, 4, 1);
  EXPECT_EQ(seeds.steps(), 3);
  EXPECT_EQ(seeds.total(0), 5);
  EXPECT_EQ(seeds.total(1), 4);
  EXPECT_EQ(seeds.total(2), 1);
  EXPECT_TRUE(seeds.of(1, 0, 0).empty());
  EXPECT_EQ(seeds.of(2, 0, 0), numbers(20, 1));
  EXPECT_TRUE(seeds.of(2, 0, 1).empty());
  std::vector<Vertex> first;
  for (int step = 0; step < 3; ++step)
    for (const Vertex v : seeds.of(0, 5, step)) first.push_back(v);
  EXPECT_EQ(sorted(first), numbers(0, 9));
  EXPECT_EQ(Seeds::from_own({{}, {}}, 4, 1).steps(), 0);
}

TEST(Seeds, FromServersTheirRanksShareAStep) {
  const Seeds seeds = Seeds::from_servers({numbers(0, 9), numbers(100, 14)}, 2, 3, 1);
  EXPECT_EQ(seeds.steps(), 3);  // 14 vertices, 6 in a step
  std::vector<Vertex> of_server[2];
  for (int step = 0; step < 3; ++step) {
    std::size_t all = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const auto own = seeds.of(rank, 5, step);
      all += own.size();
      of_server[rank / 2].insert(of_server[rank / 2].end(), own.begin(), own.end());
    }
    EXPECT_EQ(seeds.total(step), static_cast<std::int64_t>(all));
    EXPECT_LE(seeds.of(0, 5, step).size() - seeds.of(1, 5, step).size(), 1U);
  }
  EXPECT_EQ(sorted(of_server[0]), numbers(0, 9));
  EXPECT_EQ(sorted(of_server[1]), numbers(100, 14));
  EXPECT_EQ(seeds.of(0, 5, 1),
            (std::vector<Vertex>{of_server[0].begin() + 6, of_server[0].begin() + 8}));
  // One rank a server: each has its own.
  const Seeds single = Seeds::from_servers({numbers(0, 9), numbers(20, 4)}, 1, 4, 1);
  const Seeds own = Seeds::from_own({numbers(0, 9), numbers(20, 4)}, 4, 1);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(single.of(rank, 3, 0), own.of(rank, 3, 0));
}

/// How many vertices are with another rank than before, and how many with another server.
std::pair<int, int> moved(const Lists& from, const Lists& to, std::size_t width) {
  int ranks = 0, servers = 0;
  for (std::size_t r = 0; r < from.size(); ++r)
    for (const Vertex v : to[r])
      for (std::size_t q = 0; q < from.size(); ++q)
        if (std::binary_search(from[q].begin(), from[q].end(), v)) {
          ranks += q == r ? 0 : 1;
          servers += q / width == r / width ? 0 : 1;
        }
  return {ranks, servers};
}

TEST(Seeds, AreSharedEquallyAndMoveInsideAServerFirst) {
  // Server 0 has 14, server 1 has 5: of 19 each rank gets 5, 5, 5, 4. 9 of 14 have to move for rank
  // 1 to get its 5, and 4 of them leave the server.
  const Lists training{numbers(0, 14), {}, numbers(100, 1), numbers(200, 4)};
  const Lists shared = share_equally(training, 2, 3);
  std::vector<Vertex> all, before;
  for (const auto& list : shared) {
    EXPECT_GE(list.size(), 4U);
    EXPECT_LE(list.size(), 5U);
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    all.insert(all.end(), list.begin(), list.end());
  }
  for (const auto& list : training) before.insert(before.end(), list.begin(), list.end());
  EXPECT_EQ(sorted(all), before);
  EXPECT_EQ(moved(training, shared, 2), std::pair(9, 4));
  EXPECT_EQ(share_equally(training, 2, 3), shared);
  EXPECT_NE(share_equally(training, 2, 4), shared);
  // Nothing moves where the numbers are equal, or differ by one.
  const Lists even{numbers(0, 3), numbers(10, 2), numbers(20, 3)};
  EXPECT_EQ(share_equally(even, 1, 0), even);
}

}  // namespace
}  // namespace orrery
