#include "sim/collectives/trees.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace orrery::sim {
namespace {

std::vector<int> numbered(int n) {
  std::vector<int> members(static_cast<std::size_t>(n));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

std::set<int> inner(const Tree& tree) {
  std::set<int> members;
  for (const Edge& e : tree) members.insert(e.from);
  return members;
}

TEST(BinaryTrees, SpanAllMembersWithTwoBelowEach) {
  for (int n = 1; n <= 70; ++n)
    for (const bool other : {false, true}) {
      const Tree tree = binary_tree(numbered(n), other);

      std::vector<int> below(static_cast<std::size_t>(n));
      std::set<int> reached{tree.empty() ? 0 : tree.front().from};
      for (const Edge& e : tree) {
        EXPECT_TRUE(reached.contains(e.from)) << n;
        EXPECT_TRUE(reached.insert(e.to).second) << n;
        EXPECT_LE(++below[static_cast<std::size_t>(e.from)], 2) << n;
      }
      EXPECT_EQ(reached.size(), static_cast<std::size_t>(n));
    }
}

TEST(BinaryTrees, MakeEveryMemberALeafOfOne) {
  for (int n = 2; n <= 70; ++n) {
    const auto first = inner(binary_tree(numbered(n), false));
    const auto second = inner(binary_tree(numbered(n), true));

    std::vector<int> both;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                          std::back_inserter(both));
    if (n % 2 == 0)
      EXPECT_TRUE(both.empty()) << n;
    else
      EXPECT_LE(both.size(), 1u) << n;
  }
}

TEST(BinomialTree, GivesFromTheRootToPowersOfTwo) {
  const Tree tree = binomial_tree({5, 6, 7, 0, 1, 2});

  std::vector<std::pair<int, int>> edges;
  for (const Edge& e : tree) edges.emplace_back(e.from, e.to);
  EXPECT_EQ(edges, (std::vector<std::pair<int, int>>{{5, 6}, {5, 7}, {7, 0}, {5, 1}, {1, 2}}));
}

}  // namespace
}  // namespace orrery::sim
