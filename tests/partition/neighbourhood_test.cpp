// What a part holds, against distances by Floyd and Warshall and edges taken one by one.
#include "core/partition/neighbourhood.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/partition/cross_edges.hpp"
#include "core/partition/partition.hpp"
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

TEST(DrawnEnd, IsOneOfTheTwoForBothDirectionsAndHalfTheTimeTheFirst) {
  int low = 0;
  for (Vertex u = 0; u < 60; ++u)
    for (Vertex v = u + 1; v < 60; ++v) {
      const Vertex end = drawn_end(3, u, v);
      ASSERT_TRUE(end == u || end == v);
      ASSERT_EQ(end, drawn_end(3, v, u));
      low += end == u ? 1 : 0;
    }
  EXPECT_NEAR(low, 885, 4 * 21);  // of 1770, within four deviations
  bool differ = false;
  for (Vertex v = 1; v < 20; ++v) differ = differ || drawn_end(3, 0, v) != drawn_end(4, 0, v);
  EXPECT_TRUE(differ) << "the seed matters";
}

/// Every pair of vertices is looked at: its edges are between own vertices of one part, or in the
/// one of its two parts that is drawn, with both directions.
TEST(OneSidedEdges, AreEachInOnePart) {
  auto graphs = adversarial_graphs();
  graphs.push_back({"random", 40, random_edges(40, 160, 5)});
  for (const NamedGraph& named : graphs)
    for (const bool symmetric : {true, false}) {
      SCOPED_TRACE(named.name + (symmetric ? " symmetric" : " directed"));
      const Csr graph = graph_of(named, symmetric), reverse = transpose(graph);
      Partition partition{3, {}};
      for (Vertex v = 0; v < graph.rows; ++v) partition.owner.push_back(v * 7 % 3);
      std::vector<EdgeSet> want(3);
      for (Vertex v = 0; v < graph.rows; ++v)
        for (const Vertex u : graph.row(v))
          want[static_cast<std::size_t>(
                   partition.owner[static_cast<std::size_t>(drawn_end(8, u, v))])]
              .emplace_back(v, u);
      const auto members = partition.members();
      for (std::size_t p = 0; p < 3; ++p) {
        const auto& own = members[p];

        const Neighbourhood held =
            neighbourhood_of_edges(own, one_sided_edges(graph, reverse, own, partition.owner, 8));

        std::set<Vertex> others;
        for (const auto& [v, u] : want[p]) others.insert({u, v});
        for (const Vertex v : own) others.erase(v);
        EXPECT_EQ(edges_of(held), want[p]);
        std::vector<Vertex> vertices(own.begin(), own.end());
        vertices.insert(vertices.end(), others.begin(), others.end());
        EXPECT_EQ(held.vertices, vertices);
        EXPECT_EQ(held.within.front(), std::ssize(own));
        EXPECT_EQ(held.within.back(), std::ssize(vertices));
      }
    }
}

/// Distances along the given edges alone; what no path leads to stands last and is within none.
TEST(NeighbourhoodOfEdges, IsWhatItsDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const NamedGraph named{"random", 30, random_edges(30, 25, seed)};
    const Csr graph = graph_of(named, seed % 2 == 0);
    std::vector<Edge> edges;
    EdgeSet want;
    for (Vertex v = 0; v < graph.rows; ++v)
      for (const Vertex u : graph.row(v)) {
        edges.push_back({u, v});
        want.emplace_back(v, u);
      }
    const std::vector<Vertex> own{3, 4, 11};
    const auto all = distances(graph);
    std::vector<std::pair<int, Vertex>> order;
    for (Vertex v = 0; v < graph.rows; ++v) {
      bool held = false;
      int nearest = kFar;
      for (const auto& [a, b] : edges) held = held || a == v || b == v;
      for (const Vertex o : own) {
        held = held || o == v;
        nearest = std::min(nearest, all[static_cast<std::size_t>(o)][static_cast<std::size_t>(v)]);
      }
      if (held) order.emplace_back(nearest, v);
    }
    std::sort(order.begin(), order.end());

    const Neighbourhood held = neighbourhood_of_edges(own, edges);

    ASSERT_EQ(held.vertices.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(held.vertices[i], order[i].second);
    for (std::size_t d = 0; d < held.within.size(); ++d)
      EXPECT_EQ(held.within[d], std::count_if(order.begin(), order.end(), [&](const auto& o) {
                  return o.first <= static_cast<int>(d);
                }));
    EXPECT_EQ(held.within.back(), std::count_if(order.begin(), order.end(),
                                                [](const auto& o) { return o.first < kFar; }));
    EXPECT_EQ(edges_of(held), want);
  }
}

}  // namespace
}  // namespace orrery
