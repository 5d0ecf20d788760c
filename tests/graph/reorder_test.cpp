#include "core/graph/reorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/error.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/graph/statistics.hpp"

namespace orrery {
namespace {

using testing::ElementsAre;

Dataset communities() {
  DatasetOptions options;
  options.generator = "communities";
  options.generate_vertices = 4000;
  options.generate_edges = 40000;
  options.generate_classes = 16;
  options.generate_features = 3;
  return generate(options);
}

/// Mean distance between the numbers of neighbours: small when neighbours lie close together.
double mean_distance(const Csr& graph) {
  double sum = 0;
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v)) sum += static_cast<double>(std::abs(v - u));
  return sum / static_cast<double>(graph.nnz());
}

// A path 0 - 2 - 1 - 3 and the lonely vertex 4.
Csr path() { return symmetrise(build_csr(EdgeList{5, {0, 2, 1}, {2, 1, 3}})); }

TEST(ReorderTest, DegreeOrderIsDescendingThenByNumber) {
  EXPECT_THAT(vertex_order(path(), "degree"), ElementsAre(1, 2, 0, 3, 4));
}

TEST(ReorderTest, BfsOrderFollowsThePath) {
  EXPECT_THAT(vertex_order(path(), "bfs"), ElementsAre(0, 2, 1, 3, 4));
}

TEST(ReorderTest, PermuteRenumbersRowsAndColumns) {
  const Csr graph = path();
  const std::vector<Vertex> old_id{0, 2, 1, 3, 4};

  const Csr permuted_graph = permute(graph, old_id);

  EXPECT_EQ(permuted_graph.offsets, (std::vector<EdgeIndex>{0, 1, 3, 5, 6, 6}));
  EXPECT_EQ(permuted_graph.columns, (std::vector<Vertex>{1, 0, 2, 1, 3, 2}));
}

class ReorderMethodTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ReorderMethodTest, OrderIsAPermutation) {
  std::vector<Vertex> order = vertex_order(*communities().graph, GetParam());

  std::ranges::sort(order);

  for (std::size_t v = 0; v < order.size(); ++v) ASSERT_EQ(order[v], static_cast<Vertex>(v));
}

TEST_P(ReorderMethodTest, DatasetStaysTheSameUpToNumbers) {
  Dataset dataset = communities();
  dataset.split.assign(4000, Split::none);
  dataset.split[7] = Split::test;
  const Dataset before = dataset;
  const std::vector<Vertex> old_id = vertex_order(*before.graph, GetParam());

  reorder(dataset, GetParam());

  const DatasetStatistics a = dataset_statistics(before), b = dataset_statistics(dataset);
  EXPECT_EQ(a.homophily, b.homophily);
  EXPECT_EQ(a.label_counts, b.label_counts);
  EXPECT_EQ(a.in_degree.max, b.in_degree.max);
  for (std::size_t v = 0; v < old_id.size(); ++v) {
    const auto old = static_cast<std::size_t>(old_id[v]);
    EXPECT_EQ(dataset.labels.values[v], before.labels.values[old]);
    EXPECT_EQ(dataset.split[v], before.split[old]);
  }
  float now = 0, then = 0;
  const std::vector<Vertex> new_row{1234}, old_row{old_id[1234]};
  dataset.features->read(new_row, 2, 1, &now, 1);
  before.features->read(old_row, 2, 1, &then, 1);
  EXPECT_EQ(now, then);
  EXPECT_THAT(dataset.notes.back(),
              testing::HasSubstr(std::string("renumbered for locality (") + GetParam() + ") in "));
}

INSTANTIATE_TEST_SUITE_P(Methods, ReorderMethodTest,
                         ::testing::Values("degree", "bfs", "communities"),
                         [](const auto& test) { return test.param; });

// Numbers are scrambled: the distance is n/3 before. With every community in one piece (n/16 wide)
// 80 % of the edges would be n/48 long.
TEST(ReorderTest, CommunitiesBringNeighboursTogether) {
  Dataset dataset = communities();
  const double before = mean_distance(*dataset.graph);

  reorder(dataset, "communities");

  EXPECT_NEAR(before, 4000.0 / 3, 100);
  EXPECT_LT(mean_distance(*dataset.graph), before / 2);
}

TEST(ReorderTest, UnknownMethodIsAnError) {
  EXPECT_THROW(vertex_order(path(), "rcm"), ConfigError);
}

}  // namespace
}  // namespace orrery
