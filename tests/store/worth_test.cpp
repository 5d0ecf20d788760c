// The worth of rows: computed probabilities against the sampler, and by hand.
#include "core/store/worth.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/index.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

/// Row v aggregates the vertices of row v of the lists.
Csr graph_of(const std::vector<std::vector<Vertex>>& rows) {
  Csr graph;
  graph.rows = graph.cols = static_cast<Vertex>(rows.size());
  graph.offsets = {0};
  for (const auto& row : rows) {
    graph.columns.insert(graph.columns.end(), row.begin(), row.end());
    graph.offsets.push_back(std::ssize(graph.columns));
  }
  return graph;
}

TEST(InclusionProbabilities, OfAChainAreProducts) {
  // 0 aggregates 1 or 2; 1 aggregates 3 or 4.
  const Csr graph = graph_of({{1, 2}, {3, 4}, {}, {}, {}});
  const std::vector<double> seeds{0.5, 0, 0, 0, 0};

  const auto one = inclusion_probabilities(graph, seeds, std::vector<int>{1});
  EXPECT_EQ(one, (std::vector<double>{0.5, 0.25, 0.25, 0, 0}));
  const auto two = inclusion_probabilities(graph, seeds, std::vector<int>{1, 1});
  EXPECT_DOUBLE_EQ(two[3], 0.25 * 0.5);
  EXPECT_DOUBLE_EQ(two[1], 1 - 0.75 * 0.75);  // 0 draws again in the second layer
  EXPECT_EQ(inclusion_probabilities(graph, seeds, std::vector<int>{-1})[2], 0.5);
}

TEST(InclusionProbabilities, AreThoseOfTheSamplersBatches) {
  constexpr Vertex kVertices = 300;
  std::mt19937_64 random(3);
  std::vector<std::vector<Vertex>> rows(at(kVertices));
  for (auto& row : rows) {  // low numbers are aggregated often
    const auto degree = random() % 12;
    while (row.size() < degree) {
      const double x = static_cast<double>(random() >> 11U) * 0x1.0p-53;
      const auto u = static_cast<Vertex>(x * x * x * kVertices);
      if (std::find(row.begin(), row.end(), u) == row.end()) row.push_back(u);
    }
    std::sort(row.begin(), row.end());
  }
  const Csr graph = graph_of(rows);
  const std::vector<int> fanouts{4, 3};
  constexpr int kBatches = 4000, kSeeds = 10;
  std::vector<double> counted(at(kVertices));
  const NeighbourSampler sampler(graph, {fanouts});
  auto scratch = sampler.scratch(kSeeds);
  for (int b = 0; b < kBatches; ++b) {
    std::vector<Vertex> seeds;
    while (seeds.size() < kSeeds) {
      const auto v = static_cast<Vertex>(random() % kVertices);
      if (std::find(seeds.begin(), seeds.end(), v) == seeds.end()) seeds.push_back(v);
    }
    const auto flow = sampler.sample(seeds, {7, 0, static_cast<std::uint32_t>(b)}, scratch);
    for (const Vertex v : flow.vertices) counted[at(v)] += 1.0 / kBatches;
  }

  const auto computed = inclusion_probabilities(
      graph, std::vector<double>(at(kVertices), double{kSeeds} / kVertices), fanouts);

  double apart = 0;
  for (Vertex v = 0; v < kVertices; ++v) apart += std::abs(computed[at(v)] - counted[at(v)]);
  EXPECT_LT(apart / kVertices, 0.03);  // draws of several layers are not independent
  // A cache of the rows that are computed to be worth most serves as many as the best one.
  const auto served = [&](std::span<const double> worth) {
    double sum = 0;
    for (const Vertex v : worthiest(
             worth, [](Vertex) { return true; }, 40))
      sum += counted[at(v)];
    return sum;
  };
  EXPECT_GT(served(computed), 0.99 * served(counted));
}

TEST(Worthiest, AreTheFirstByWorthThenByNumber) {
  const std::vector<double> worth{0.5, 0, 2, 0.5, 3, 0.5};
  const auto all = [](Vertex) { return true; };
  EXPECT_EQ(worthiest(worth, all, 3), (std::vector<Vertex>{4, 2, 0}));
  EXPECT_EQ(worthiest(worth, all, 100), (std::vector<Vertex>{4, 2, 0, 3, 5}));
  EXPECT_EQ(worthiest(
                worth, [](Vertex v) { return v != 4; }, 2),
            (std::vector<Vertex>{2, 0}));
  EXPECT_TRUE(worthiest(worth, all, 0).empty());
}

}  // namespace
}  // namespace orrery
