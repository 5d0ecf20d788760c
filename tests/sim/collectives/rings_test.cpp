// Packings of rings against brute force, on the NVLinks of a DGX-1 and random meshes.
#include "sim/collectives/rings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tests/sim/clusters.hpp"

namespace orrery::sim {
namespace {

std::vector<int> cables_among(const std::vector<int>& gpus) {
  std::vector<int> cables;
  for (const int a : gpus)
    for (const int b : gpus)
      cables.push_back(test::kDgx1[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]);
  return cables;
}

/// Takes the cables of a ring away; false if one is missing (then `left` is spoiled).
bool take(std::vector<int>& left, const Ring& ring) {
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const int from = ring[i], to = ring[(i + 1) % ring.size()];
    if (--left[static_cast<std::size_t>(from * static_cast<int>(ring.size()) + to)] < 0)
      return false;
  }
  return true;
}

bool fit(std::vector<int> cables, std::size_t members, const std::vector<Ring>& rings) {
  return std::all_of(rings.begin(), rings.end(), [&](const Ring& ring) {
    return ring.size() == members && std::set<int>(ring.begin(), ring.end()).size() == members &&
           take(cables, ring);
  });
}

/// Tries every order of members, again and again.
int most_rings(const std::vector<int>& cables, int n, Ring order) {
  int most = 0;
  do {
    std::vector<int> left = cables;
    if (take(left, order)) most = std::max(most, 1 + most_rings(left, n, order));
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return most;
}
int most_rings(const std::vector<int>& cables, int n) {
  Ring order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return most_rings(cables, n, order);
}

TEST(Rings, OfADgx1AreSixAndUseEveryCable) {
  const auto cables = cables_among({0, 1, 2, 3, 4, 5, 6, 7});

  const auto rings = pack_rings(cables);

  EXPECT_EQ(rings.size(), 6u);  // each GPU has six NVLinks, so there cannot be more
  EXPECT_TRUE(fit(cables, 8, rings));
}

TEST(Rings, OfEveryFewGpusOfADgx1AreAsManyAsBruteForceFinds) {
  for (unsigned chosen = 0; chosen < 256; ++chosen) {
    std::vector<int> gpus;
    for (int g = 0; g < 8; ++g)
      if (chosen >> g & 1) gpus.push_back(g);
    if (gpus.size() < 2 || gpus.size() > 5) continue;
    const auto cables = cables_among(gpus);

    const auto rings = pack_rings(cables);

    EXPECT_TRUE(fit(cables, gpus.size(), rings)) << chosen;
    EXPECT_EQ(static_cast<int>(rings.size()), most_rings(cables, static_cast<int>(gpus.size())))
        << chosen;
  }
}

TEST(Rings, OfHalvesAndPairsOfADgx1AreFourTwoAndOne) {
  EXPECT_EQ(pack_rings(cables_among({0, 1, 2, 3})).size(), 4u);  // as MG-GCN section 5.1 says
  EXPECT_EQ(pack_rings(cables_among({4, 5, 6, 7})).size(), 4u);
  EXPECT_EQ(pack_rings(cables_among({0, 4})).size(), 2u);
  EXPECT_EQ(pack_rings(cables_among({1, 5})).size(), 2u);
  EXPECT_EQ(pack_rings(cables_among({2, 6})).size(), 1u);  // where it says two
  EXPECT_EQ(pack_rings(cables_among({3, 7})).size(), 1u);
  EXPECT_TRUE(pack_rings(cables_among({0, 5})).empty());
}

TEST(Rings, OfRandomMeshesAreAsManyAsBruteForceFinds) {
  std::mt19937 draw(7);
  for (int round = 0; round < 200; ++round) {
    const int n = 2 + static_cast<int>(draw() % 4);
    std::vector<int> cables(static_cast<std::size_t>(n * n));
    for (int a = 0; a < n; ++a)
      for (int b = a + 1; b < n; ++b)
        cables[static_cast<std::size_t>(a * n + b)] = cables[static_cast<std::size_t>(b * n + a)] =
            static_cast<int>(draw() % 3);

    const auto rings = pack_rings(cables);

    EXPECT_TRUE(fit(cables, static_cast<std::size_t>(n), rings)) << round;
    EXPECT_EQ(static_cast<int>(rings.size()), most_rings(cables, n)) << round;
  }
}

TEST(Rings, OfAFullMeshOfEightAreFoundInTime) {
  std::vector<int> cables(64, 1);
  for (std::size_t i = 0; i < 8; ++i) cables[i * 9] = 0;

  const auto rings = pack_rings(cables);

  EXPECT_TRUE(fit(cables, 8, rings));
  EXPECT_GE(rings.size(), 6u);  // seven exist; the search may stop before it has them
}

}  // namespace
}  // namespace orrery::sim
