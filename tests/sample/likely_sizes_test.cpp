// Sizes that hardly a batch exceeds, against many drawn batches, against what is certain, and against a sum
// by hand.
#include "core/sample/bounds/likely_sizes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/base/index.hpp"
#include "core/graph/dataset_options.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/sample/neighbour_sampler.hpp"
#include "core/sample/seeds.hpp"

namespace orrery {
namespace {

std::vector<Vertex> all_of(std::int64_t vertices) {
  std::vector<Vertex> list(at(vertices));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

/// R-MAT: few vertices of many neighbours, and most of few.
Csr skewed_graph(std::int64_t vertices, std::int64_t edges) {
  DatasetOptions options;
  options.generator = "rmat";
  options.generate_vertices = vertices;
  options.generate_edges = edges;
  options.generate_features = options.generate_classes = 1;
  return *generate_rmat(options).graph;
}

/// Vertices by level, from the seeds, and edges by hop.
LikelySizes sizes_of(const MessageFlow& flow) {
  LikelySizes sizes;
  for (auto level = flow.rows.rbegin(); level != flow.rows.rend(); ++level)
    sizes.vertices.push_back(*level);
  for (auto block = flow.blocks.rbegin(); block != flow.blocks.rend(); ++block)
    sizes.edges.push_back(block->nnz());
  return sizes;
}

/// Hubs are in most batches, and most vertices have fewer neighbours than a fanout.
TEST(LikelySizes, AreNotExceededAndFarBelowWhatIsPossible) {
  const Csr graph = skewed_graph(4000, 40000);
  const std::vector<int> fanouts{5, 4, 3};
  constexpr std::int64_t kSeeds = 100;
  const std::vector<std::vector<Vertex>> lists{all_of(graph.rows)};
  const LikelySizes likely = likely_sizes(graph, fanouts, lists, kSeeds, 1e-9);

  const Seeds seeds = Seeds::from_own(lists, kSeeds, 3);
  const NeighbourSampler sampler(graph, {fanouts, NeighbourRule::uniform});
  auto scratch = sampler.scratch(kSeeds);
  LikelySizes most{std::vector<std::int64_t>(4, 0), std::vector<std::int64_t>(3, 0)};
  for (int epoch = 0; epoch < 20; ++epoch)
    for (int step = 0; step < seeds.steps(); ++step) {
      const DrawKey key{3, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(step)};
      const LikelySizes drawn =
          sizes_of(sampler.sample(seeds.of(0, epoch, step), key, scratch, false));
      for (std::size_t i = 0; i < 4; ++i)
        most.vertices[i] = std::max(most.vertices[i], drawn.vertices[i]);
      for (std::size_t i = 0; i < 3; ++i) most.edges[i] = std::max(most.edges[i], drawn.edges[i]);
    }

  std::int64_t possible = kSeeds;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LE(most.edges[i], likely.edges[i]) << i;
    EXPECT_LE(most.vertices[i + 1], likely.vertices[i + 1]) << i;
    possible = std::min(graph.rows, possible * (1 + fanouts[i]));
    EXPECT_LE(likely.vertices[i + 1], possible);
    EXPECT_LT(likely.edges[i], 3 * most.edges[i]) << i;
  }
  EXPECT_LT(likely.vertices[2], 0.8 * kSeeds * 6 * 5);
}

/// Bernstein's inequality for a sum over k of n seeds that are drawn without replacement.
TEST(LikelySizes, OfOneHopAreTheMeanAndADeviation) {
  const Csr graph = skewed_graph(1000, 8000);
  const auto list = all_of(graph.rows);
  double sum = 0, squares = 0, most = 0;
  for (const Vertex v : list) {
    const auto degree = static_cast<double>(std::min<EdgeIndex>(graph.degree(v), 6));
    sum += degree;
    squares += degree * degree;
    most = std::max(most, degree);
  }
  const double n = static_cast<double>(graph.rows), mean = sum / n, k = 200;
  // half of the chance for each of edges and vertices; of these, 2 · 3 events at most
  const double L = std::log(2 * 6 / 1e-6), third = most * L / 3,
               variance = k * (squares / n - mean * mean);

  const LikelySizes likely = likely_sizes(graph, std::vector{6}, {list}, 200, 1e-6);

  EXPECT_NEAR(static_cast<double>(likely.edges[0]),
              k * mean + third + std::sqrt(third * third + 2 * variance * L), 1);
}

/// If all seeds of a list are taken, their edges are certain; the fullest list counts.
TEST(LikelySizes, OfWholeListsAreExact) {
  const Csr graph = skewed_graph(1000, 8000);
  std::vector<std::vector<Vertex>> lists(2);
  std::vector<std::int64_t> edges(2, 0);
  for (Vertex v = 0; v < graph.rows; ++v) {
    if (v % 7 > 1) continue;
    lists[at(v % 7)].push_back(v);
    edges[at(v % 7)] += std::min<EdgeIndex>(graph.degree(v), 3);
  }

  const LikelySizes likely = likely_sizes(graph, std::vector{3, 3}, lists, 1000, 1e-9);

  EXPECT_EQ(likely.vertices[0], std::max(std::ssize(lists[0]), std::ssize(lists[1])));
  EXPECT_EQ(likely.edges[0], std::max(edges[0], edges[1]));
  EXPECT_LE(likely.vertices[1], likely.vertices[0] + likely.edges[0]);
}

}  // namespace
}  // namespace orrery
