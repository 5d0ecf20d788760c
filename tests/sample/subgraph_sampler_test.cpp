// Subgraph batches: what they are drawn by, and that their normalisation is right in the mean.
#include "core/sample/subgraph_sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "tests/sample/chi_square.hpp"

namespace orrery {
namespace {

/// 0 <- 1, 2, 3; 1 <- 0, 2; 2 <- 3; 3 has no in-neighbour; 4 <- 4.
Csr small() {
  const std::vector<Vertex> source{1, 2, 3, 0, 2, 3, 4}, destination{0, 0, 0, 1, 1, 2, 4};
  return build_csr(5, source, destination);
}

TEST(ClusterBatches, HaveEveryVertexOnceAnEpochInClustersThatAreMixedAnew) {
  const Partition partition{5, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4}};
  const ClusterBatches batches(partition, 2, 3);
  ASSERT_EQ(batches.batches(), 3);
  std::set<std::vector<Vertex>> seen;
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::vector<Vertex> all;
    for (int b = 0; b < 3; ++b) {
      const auto vertices = batches.vertices(epoch, b);
      std::set<int> parts;
      for (const Vertex v : vertices) parts.insert(partition.owner[at(v)]);
      EXPECT_EQ(parts.size(), b < 2 ? 2U : 1U);
      EXPECT_TRUE(std::is_sorted(vertices.begin(), vertices.end()));
      all.insert(all.end(), vertices.begin(), vertices.end());
      seen.insert(vertices);
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), 11U);
    for (std::size_t v = 0; v < 11; ++v) EXPECT_EQ(all[v], static_cast<Vertex>(v));
  }
  EXPECT_EQ(seen.size(), 15U);  // 10 pairs of parts and 5 parts alone
  EXPECT_THROW(ClusterBatches(partition, 6, 0), ConfigError);
  EXPECT_THROW(ClusterBatches(partition, 0, 0), ConfigError);
}

TEST(SaintSampler, DrawsVerticesByTheirLikelihood) {
  const Csr graph = small();
  const std::vector<double> squares{9, 1, 5, 5, 0};
  const SaintSampler sampler(graph, {SaintRule::node, 1, 1}, squares);
  std::vector<double> seen(5, 0);
  for (std::uint32_t step = 0; step < 20000; ++step) {
    const auto vertices = sampler.vertices({1, 0, step});
    ASSERT_EQ(vertices.size(), 1U);
    ++seen[at(vertices[0])];
  }
  double chi = 0;
  for (std::size_t v = 0; v < 4; ++v) {
    const double mean = squares[v] / 20 * 20000;
    chi += (seen[v] - mean) * (seen[v] - mean) / mean;
  }
  EXPECT_GT(testing::p_value(chi, 3), 1e-4);
  EXPECT_EQ(seen[4], 0);
}

TEST(SaintSampler, DrawsEdgesByTheDegreesOfTheirEnds) {
  const Csr graph = small();
  const SaintSampler sampler(graph, {SaintRule::edge, 1, 1}, {});
  const std::vector<double> degree{3, 2, 1, 1, 1};  // of 3, which has none, as if it had one
  std::map<std::vector<Vertex>, double> expected, seen;
  double sum = 0;
  for (Vertex v = 0; v < 5; ++v)
    for (const Vertex u : graph.row(v)) {
      const double weight = 1 / degree[at(u)] + 1 / degree[at(v)];
      std::vector<Vertex> ends{std::min(u, v), std::max(u, v)};
      if (u == v) ends.pop_back();
      expected[ends] += weight;
      sum += weight;
    }
  for (std::uint32_t step = 0; step < 20000; ++step) ++seen[sampler.vertices({2, 0, step})];
  double chi = 0;
  for (const auto& [ends, weight] : expected) {
    const double mean = weight / sum * 20000;
    chi += (seen[ends] - mean) * (seen[ends] - mean) / mean;
  }
  EXPECT_EQ(seen.size(), expected.size());
  EXPECT_GT(testing::p_value(chi, static_cast<double>(expected.size()) - 1), 1e-4);
}

TEST(SaintSampler, WalksAlongInEdges) {
  const Csr graph = small();
  const SaintSampler sampler(graph, {SaintRule::walk, 1, 2}, {});
  // From root 0: 1 or 2 or 3 first. From 3 nothing, from 4 only itself.
  std::map<std::vector<Vertex>, double> expected{{{3}, 0.2}, {{4}, 0.2}, {{2, 3}, 0.2}};
  expected[{0, 1}] += 0.2 / 3 / 2;     // 0 1 0
  expected[{0, 1, 2}] += 0.2 / 3 / 2;  // 0 1 2
  expected[{0, 2, 3}] += 0.2 / 3;      // 0 2 3
  expected[{0, 3}] += 0.2 / 3;         // 0 3
  expected[{0, 1}] += 0.2 / 2 / 3;     // 1 0 1
  expected[{0, 1, 2}] += 0.2 / 2 / 3;  // 1 0 2
  expected[{0, 1, 3}] += 0.2 / 2 / 3;  // 1 0 3
  expected[{1, 2, 3}] += 0.2 / 2;      // 1 2 3
  std::map<std::vector<Vertex>, double> seen;
  for (std::uint32_t step = 0; step < 30000; ++step) ++seen[sampler.vertices({3, 0, step})];
  double chi = 0;
  for (const auto& [vertices, p] : expected)
    chi += (seen[vertices] - 30000 * p) * (seen[vertices] - 30000 * p) / (30000 * p);
  EXPECT_EQ(seen.size(), expected.size());
  EXPECT_GT(testing::p_value(chi, static_cast<double>(expected.size()) - 1), 1e-4);
}

TEST(SaintSampler, ItsNormalisationGivesTheSumsOfTheWholeGraphInTheMean) {
  // A ring with chords: every vertex is drawn often enough to be counted well.
  std::vector<Vertex> source, destination;
  for (Vertex v = 0; v < 40; ++v)
    for (const Vertex step : {1, 39, 7, 33}) {
      source.push_back((v + step) % 40);
      destination.push_back(v);
    }
  for (Vertex v = 1; v < 10; ++v) {
    source.push_back(v);
    destination.push_back(20);
  }
  const Csr graph = build_csr(40, source, destination);
  const std::vector<double> likelihood(at(graph.rows), 0.5);
  for (const SaintRule rule : {SaintRule::node, SaintRule::edge, SaintRule::walk}) {
    const SaintSampler sampler(graph, {rule, 8, 2}, likelihood);
    const SaintNormalisation norm = normalisation_of(sampler, 2000, 4);
    // Sum over vertices of λ⁻¹ Σ_u A(v,u) x(u) / α(v,u), of other subgraphs.
    double mean = 0, whole = 0;
    const int times = 8000;
    for (std::uint32_t step = 0; step < times; ++step) {
      const auto vertices = sampler.vertices({9, 1, step});
      for (const Vertex v : vertices)
        for (EdgeIndex e = graph.offsets[at(v)]; e < graph.offsets[at(v) + 1]; ++e) {
          const Vertex u = graph.columns[at(e)];
          if (!std::binary_search(vertices.begin(), vertices.end(), u)) continue;
          mean += 0.5 * u / double{norm.entries[at(e)]} / double{norm.vertices[at(v)]} / times;
        }
    }
    for (Vertex v = 0; v < 40; ++v)
      for (const Vertex u : graph.row(v)) whole += 0.5 * u;
    EXPECT_NEAR(mean / whole, 1, 0.05) << static_cast<int>(rule);
  }
}

/// Entries and losses are divided by it: a zero would make a loss infinite.
TEST(SaintSampler, ItsNormalisationIsNeverZero) {
  const Csr graph = small();
  const SaintSampler sampler(graph, {SaintRule::edge, 1, 1}, {});

  const SaintNormalisation norm = normalisation_of(sampler, 1, 4);

  for (const float entry : norm.entries) EXPECT_GT(entry, 0);
  for (const float vertex : norm.vertices) EXPECT_GT(vertex, 0);
}

TEST(SaintSampler, SaysWhatIsWrong) {
  const Csr graph = small();
  EXPECT_THROW(SaintSampler(graph, {SaintRule::walk, 0, 2}, {}), ConfigError);
  EXPECT_THROW(SaintSampler(graph, {SaintRule::walk, 2, 0}, {}), ConfigError);
  EXPECT_THROW(SaintSampler(graph, {SaintRule::node, 2, 1}, {}), Error);
  const Csr none;
  EXPECT_TRUE(SaintSampler(none, {SaintRule::edge, 3, 1}, {}).vertices({}).empty());
}

}  // namespace
}  // namespace orrery
