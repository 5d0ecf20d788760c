// What a part holds, against distances by Floyd and Warshall and edges taken one by one.
#include "core/partition/neighbourhood.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

constexpr int kFar = 1000;

/// Distances between all vertices, whatever the direction of edges.
std::vector<std::vector<int>> distances(const Csr& graph) {
  const auto n = static_cast<std::size_t>(graph.rows);
  std::vector<std::vector<int>> d(n, std::vector<int>(n, kFar));
  for (std::size_t v = 0; v < n; ++v) {
    d[v][v] = 0;
    for (const Vertex u : graph.row(static_cast<std::int64_t>(v))) {
      if (static_cast<std::size_t>(u) == v) continue;
      d[v][static_cast<std::size_t>(u)] = d[static_cast<std::size_t>(u)][v] = 1;
    }
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) d[i][j] = std::min(d[i][j], d[i][k] + d[k][j]);
  return d;
}

using EdgeSet = std::vector<std::pair<Vertex, Vertex>>;  // global (destination, source), ascending

EdgeSet edges_of(const Neighbourhood& held) {
  EdgeSet edges;
  for (std::int64_t i = 0; i < held.graph.rows; ++i)
    for (const Vertex j : held.graph.row(i))
      edges.emplace_back(held.vertices[static_cast<std::size_t>(i)],
                         held.vertices[static_cast<std::size_t>(j)]);
  std::sort(edges.begin(), edges.end());
  return edges;
}

void expect_by_definition(const Csr& graph, const std::vector<Vertex>& own, int hops) {
  const auto all = distances(graph);
  std::map<Vertex, int> distance;  // of what is held
  for (Vertex v = 0; v < graph.rows; ++v) {
    int nearest = kFar;
    for (const Vertex o : own)
      nearest = std::min(nearest, all[static_cast<std::size_t>(o)][static_cast<std::size_t>(v)]);
    if (nearest <= hops) distance[v] = nearest;
  }
  std::vector<std::pair<int, Vertex>> order;
  for (const auto& [v, d] : distance) order.emplace_back(d, v);
  std::sort(order.begin(), order.end());
  EdgeSet edges;
  for (const auto& [v, d] : distance)
    for (const Vertex u : graph.row(v)) {
      if (!distance.contains(u)) continue;
      if (hops == 0 || std::min(d, distance[u]) < hops) edges.emplace_back(v, u);
    }
  std::sort(edges.begin(), edges.end());

  const Neighbourhood held = neighbourhood(graph, transpose(graph), own, hops);

  ASSERT_EQ(held.vertices.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(held.vertices[i], order[i].second);
  ASSERT_EQ(held.within.size(), static_cast<std::size_t>(hops) + 1);
  for (int d = 0; d <= hops; ++d)
    EXPECT_EQ(held.within[static_cast<std::size_t>(d)],
              std::count_if(order.begin(), order.end(), [&](auto& o) { return o.first <= d; }));
  EXPECT_EQ(edges_of(held), edges);
  for (std::int64_t i = 0; i < held.graph.rows; ++i)
    EXPECT_TRUE(std::is_sorted(held.graph.row(i).begin(), held.graph.row(i).end()));
}

TEST(Neighbourhood, IsWhatItsDefinitionSays) {
  auto graphs = adversarial_graphs();
  graphs.push_back({"random", 40, random_edges(40, 60, 5)});
  for (const NamedGraph& named : graphs)
    for (const bool symmetric : {true, false})
      for (int hops = 0; hops <= 3; ++hops)
        for (const int parts : {1, 3}) {
          SCOPED_TRACE(named.name + (symmetric ? " symmetric " : " directed ") +
                       std::to_string(hops));
          const Csr graph = graph_of(named, symmetric);
          std::vector<Vertex> own;
          for (Vertex v = 0; v < graph.rows; v += static_cast<Vertex>(parts)) own.push_back(v);

          expect_by_definition(graph, own, hops);
        }
}

TEST(Neighbourhood, OfAPathByHand) {
  EdgeList path{6, {0, 1, 2, 3, 4}, {1, 2, 3, 4, 5}};
  const Csr graph = symmetrise(build_csr(path));
  const std::vector<Vertex> own{2, 3};

  const Neighbourhood none = neighbourhood(graph, graph, own, 0),
                      one = neighbourhood(graph, graph, own, 1),
                      two = neighbourhood(graph, graph, own, 2);

  EXPECT_EQ(none.vertices, own);
  EXPECT_EQ(none.graph.nnz(), 2);
  EXPECT_EQ(one.vertices, (std::vector<Vertex>{2, 3, 1, 4}));
  EXPECT_EQ(one.graph.nnz(), 6);
  EXPECT_EQ(two.vertices, (std::vector<Vertex>{2, 3, 1, 4, 0, 5}));
  EXPECT_EQ(two.within, (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(two.graph.nnz(), 10);
}

TEST(Neighbourhood, OfNothingIsNothing) {
  const Csr graph = symmetrise(build_csr(EdgeList{3, {0, 1}, {1, 2}}));

  const Neighbourhood held = neighbourhood(graph, graph, {}, 2);

  EXPECT_TRUE(held.vertices.empty());
  EXPECT_EQ(held.within, (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(held.graph.offsets.size(), 1U);
}

}  // namespace
}  // namespace orrery
