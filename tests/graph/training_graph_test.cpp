#include "core/graph/training_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/graph/generate/generate.hpp"

namespace orrery {
namespace {

using testing::ElementsAre;

/// 0 → 1 → 2 → 3 → 4 and 4 → 1, a loop at 3; 1, 3 and 4 train.
Dataset five_vertices() {
  Dataset data;
  data.graph =
      std::make_shared<const Csr>(build_csr(EdgeList{5, {0, 1, 2, 3, 4, 3}, {1, 2, 3, 4, 1, 3}}));
  data.features = dense_features(5, 2, {0, 0, 1, 10, 2, 20, 3, 30, 4, 40}, "five rows", true);
  data.labels = {3, true, {1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1}};
  data.split = {Split::test, Split::train, Split::none, Split::train, Split::train};
  return data;
}

TEST(TrainingGraph, HasTheTrainingVerticesAndTheEdgesAmongThem) {
  const Dataset graph = training_graph(five_vertices());

  EXPECT_EQ(*graph.graph, build_csr(EdgeList{3, {1, 2, 1}, {2, 0, 1}}));
  EXPECT_THAT(graph.labels.values, ElementsAre(1, 1, 0, 0, 1, 1, 0, 0, 1));
  EXPECT_THAT(graph.split, ElementsAre(Split::train, Split::train, Split::train));
  std::vector<float> rows(3);
  graph.features->read(std::vector<Vertex>{2, 0, 1}, 1, 1, rows.data(), 1);
  EXPECT_THAT(rows, ElementsAre(40, 10, 30));
  EXPECT_EQ(graph.features->rows(), 3);
  EXPECT_THAT(graph.notes.back(), testing::HasSubstr("the 3 training vertices (of 5)"));
}

TEST(TrainingGraph, OfNoSplitIsEmpty) {
  Dataset data = five_vertices();
  data.split.clear();

  EXPECT_EQ(training_graph(data).vertices(), 0);
}

/// The mean over training vertices that are drawn at random.
TEST(TrainingGraph, OfStatisticsHasTheEdgesThatAreExpected) {
  DatasetOptions options;
  options.generator = "rmat";
  options.generate_vertices = 1 << 10;
  options.generate_edges = 12000;
  Dataset data = generate(options);
  GraphStatistics statistics;
  statistics.vertices = data.vertices();
  statistics.training_vertices = data.vertices() / 3;
  for (std::int64_t v = 0; v < data.vertices(); ++v)
    for (const Vertex u : data.graph->row(v)) statistics.edges += u == v ? 0 : 1;

  constexpr int kDraws = 60;
  double sum = 0, squares = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto order = [&](Vertex v) {
      return (static_cast<std::uint64_t>(v) * 2654435761U +
              static_cast<std::uint64_t>(draw) * 40503U) *
                 6364136223846793005U >>
             20U;
    };
    std::vector<Vertex> vertices(static_cast<std::size_t>(data.vertices()));
    for (std::size_t v = 0; v < vertices.size(); ++v) vertices[v] = static_cast<Vertex>(v);
    std::ranges::sort(vertices, {}, order);
    data.split.assign(vertices.size(), Split::test);
    for (std::int64_t i = 0; i < statistics.training_vertices; ++i)
      data.split[static_cast<std::size_t>(vertices[static_cast<std::size_t>(i)])] = Split::train;
    const auto edges = static_cast<double>(training_graph(data).edges());
    sum += edges;
    squares += edges * edges;
  }

  const double mean = sum / kDraws, deviation = std::sqrt(squares / kDraws - mean * mean);
  const GraphStatistics expected = training_graph(statistics);
  EXPECT_EQ(expected.vertices, statistics.training_vertices);
  EXPECT_NEAR(static_cast<double>(expected.edges), mean, 4 * deviation / std::sqrt(kDraws));
  statistics.training_edges = 17;
  EXPECT_EQ(training_graph(statistics).edges, 17);
}

}  // namespace
}  // namespace orrery
