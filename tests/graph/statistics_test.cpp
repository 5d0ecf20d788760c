#include "core/graph/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <queue>

#include "core/graph/generate/generate.hpp"

namespace orrery {
namespace {

Dataset dataset_of(const EdgeList& edges) {
  Dataset dataset;
  dataset.graph = std::make_shared<Csr>(build_csr(edges));
  return dataset;
}

// 0 -> 1, 1 -> 0, 1 -> 2, a loop at 3, nothing at 4: components {0, 1, 2}, {3}, {4}.
TEST(StatisticsTest, SmallDirectedGraphByHand) {
  const DatasetStatistics s = dataset_statistics(dataset_of({5, {0, 1, 1, 3}, {1, 0, 2, 3}}));

  EXPECT_EQ(s.vertices, 5);
  EXPECT_EQ(s.edges, 4);
  EXPECT_EQ(s.self_loops, 1);
  EXPECT_FALSE(s.symmetric);
  EXPECT_EQ(s.isolated, 2);
  EXPECT_EQ(s.components, 3);
  EXPECT_EQ(s.largest_component, 3);
  EXPECT_EQ(s.in_degree.max, 1);
  EXPECT_EQ(s.out_degree.max, 2);
  EXPECT_DOUBLE_EQ(s.in_degree.mean, 0.8);
  EXPECT_EQ(s.out_degree.median, 1);
  EXPECT_EQ(s.clustering, 0.0);
}

// Degrees 0, 0, 0, 4: mean 1, variance 3, third moment 6 (= (3·(-1) + 27) / 4), skewness 6 / 3^1.5.
TEST(StatisticsTest, SkewnessIsTheThirdStandardisedMoment) {
  const DatasetStatistics s = dataset_statistics(dataset_of({4, {0, 1, 2, 3}, {3, 3, 3, 3}}));

  EXPECT_NEAR(s.in_degree.skewness, 6 / std::pow(3, 1.5), 1e-12);
}

// A triangle 0 1 2 with a tail 3 at 0: wedges 3 at vertex 0, one each at 1 and 2; 3 of 5 are
// closed.
TEST(StatisticsTest, ClusteringIsTheShareOfClosedWedges) {
  const Dataset dataset = dataset_of({4, {0, 1, 2, 0, 1}, {1, 2, 0, 3, 1}});

  EXPECT_NEAR(*dataset_statistics(dataset).clustering, 0.6, 0.01);
}

TEST(StatisticsTest, NoWedgesNoClustering) {
  EXPECT_FALSE(dataset_statistics(dataset_of({4, {0}, {1}})).clustering);
}

// Edges between labels: 0-0 equal, 0-1 not, 1-unlabelled not counted, the loop not counted.
TEST(StatisticsTest, HomophilyCountsLabelledEdgesOnly) {
  Dataset dataset = dataset_of({4, {0, 1, 2, 0}, {1, 2, 3, 0}});
  dataset.labels = {2, false, {0, 0, 1, -1}};
  dataset.split = {Split::train, Split::none, Split::test, Split::test};

  const DatasetStatistics s = dataset_statistics(dataset);

  EXPECT_EQ(s.homophily, 0.5);
  EXPECT_THAT(s.label_counts, testing::ElementsAre(2, 1));
  EXPECT_EQ(s.unlabelled, 1);
  EXPECT_THAT(s.split_counts, testing::ElementsAre(1, 0, 2, 1));
}

TEST(StatisticsTest, MultilabelCountsVerticesPerLabel) {
  Dataset dataset = dataset_of({2, {0}, {1}});
  dataset.labels = {3, true, {1, 0, 1, 1, 0, 0}};

  EXPECT_THAT(dataset_statistics(dataset).label_counts, testing::ElementsAre(2, 0, 1));
}

TEST(StatisticsTest, ComponentsEqualBreadthFirstSearch) {
  DatasetOptions options;
  options.generator = "rmat";
  options.generate_vertices = 5000;
  options.generate_edges = 6000;
  options.generate_classes = 0;
  const Dataset dataset = generate(options);
  std::vector<bool> seen(5000);
  std::int64_t components = 0, largest = 0;
  for (Vertex start = 0; start < 5000; ++start) {
    if (seen[static_cast<std::size_t>(start)]) continue;
    std::queue<Vertex> queue({start});
    seen[static_cast<std::size_t>(start)] = true;
    std::int64_t size = 0;
    for (; !queue.empty(); queue.pop(), ++size)
      for (const Vertex u : dataset.graph->row(queue.front()))
        if (!seen[static_cast<std::size_t>(u)]) {
          seen[static_cast<std::size_t>(u)] = true;
          queue.push(u);
        }
    ++components;
    largest = std::max(largest, size);
  }

  const DatasetStatistics s = dataset_statistics(dataset);

  EXPECT_EQ(s.components, components);
  EXPECT_EQ(s.largest_component, largest);
}

}  // namespace
}  // namespace orrery
