// What is held of a graph whose external vertices are chosen, against distances by relaxation.
#include "core/sample/induced.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/sample/expansion_sampling.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

using Edges = std::set<std::pair<Vertex, Vertex>>;  // global (destination, source)

Edges edges_of(const Neighbourhood& held) {
  Edges edges;
  for (std::int64_t i = 0; i < held.graph.rows; ++i)
    for (const Vertex j : held.graph.row(i))
      edges.emplace(held.vertices[static_cast<std::size_t>(i)],
                    held.vertices[static_cast<std::size_t>(j)]);
  return edges;
}

/// Steps along edges from each vertex of the set to an own one, by relaxing all edges until nothing
/// changes.
std::map<Vertex, int> distances(const Csr& graph, const std::set<Vertex>& set,
                                const std::vector<Vertex>& own) {
  std::map<Vertex, int> distance;
  for (const Vertex v : own) distance[v] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Vertex v : set)
      for (const Vertex u : graph.row(v)) {
        if (!set.contains(u) || !distance.contains(v)) continue;
        if (distance.contains(u) && distance[u] <= distance[v] + 1) continue;
        distance[u] = distance[v] + 1;
        changed = true;
      }
  }
  return distance;
}

void expect_by_definition(const Csr& graph, const std::vector<Vertex>& own,
                          const std::vector<Vertex>& external) {
  std::set<Vertex> set(own.begin(), own.end());
  set.insert(external.begin(), external.end());
  std::set<std::pair<int, Vertex>> order;
  int farthest = 0;
  for (const auto& [v, d] : distances(graph, set, own)) {
    order.emplace(d, v);
    farthest = std::max(farthest, d);
  }
  std::set<Vertex> kept;
  for (const auto& [d, v] : order) kept.insert(v);
  Edges edges;
  for (const Vertex v : kept)
    for (const Vertex u : graph.row(v))
      if (kept.contains(u)) edges.emplace(v, u);

  const Neighbourhood held = induced_neighbourhood(graph, own, external);

  ASSERT_EQ(held.vertices.size(), order.size());
  std::size_t i = 0;
  for (const auto& [d, v] : order) EXPECT_EQ(held.vertices[i++], v);
  ASSERT_EQ(held.within.size(), static_cast<std::size_t>(farthest) + 1);
  for (int d = 0; d <= farthest; ++d)
    EXPECT_EQ(held.within[static_cast<std::size_t>(d)],
              std::count_if(order.begin(), order.end(), [&](auto& o) { return o.first <= d; }));
  EXPECT_EQ(edges_of(held), edges);
  EXPECT_EQ(held.graph.nnz(), static_cast<std::int64_t>(edges.size()));
  for (std::int64_t row = 0; row < held.graph.rows; ++row)
    EXPECT_TRUE(std::is_sorted(held.graph.row(row).begin(), held.graph.row(row).end()));
}

TEST(Induced, IsWhatItsDefinitionSays) {
  auto graphs = adversarial_graphs();
  graphs.push_back({"sparse", 40, random_edges(40, 60, 5)});
  graphs.push_back({"dense", 60, random_edges(60, 600, 6)});
  for (const NamedGraph& named : graphs) {
    SCOPED_TRACE(named.name);
    EdgeList list{named.vertices, {}, {}};
    for (const Edge& edge : named.edges) {
      list.source.push_back(edge.source);
      list.destination.push_back(edge.destination);
    }
    const Csr directed = build_csr(list);
    for (const Csr& graph : {directed, symmetrise(directed)}) {
      std::vector<Vertex> own, every_second;
      for (Vertex v = 0; v < graph.rows; ++v)
        if (v % 3 == 0) {
          own.push_back(v);
        } else if (v % 2 == 0) {
          every_second.push_back(v);
        }

      expect_by_definition(graph, own, every_second);  // some of them not connected
      expect_by_definition(graph, own, sample_expansion(graph, own, {2, 2}, 1, 0));
      expect_by_definition(graph, own, {});
    }
  }
}

TEST(Induced, HasTheEdgesBetweenExternalVerticesAndLeavesOutTheUnreached) {
  // 0 <- 1 <- 2, 3 <- 2, and 0 is own: nothing that 3 computes is used.
  const Csr graph = build_csr(EdgeList{5, {1, 2, 2, 2, 4}, {0, 1, 3, 0, 3}});

  const Neighbourhood held =
      induced_neighbourhood(graph, std::vector<Vertex>{0}, std::vector<Vertex>{2, 1, 3});

  EXPECT_EQ(held.vertices, (std::vector<Vertex>{0, 1, 2}));
  EXPECT_EQ(held.within, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(edges_of(held), (Edges{{0, 1}, {0, 2}, {1, 2}}));
}

TEST(Induced, HoldsOwnVerticesWithoutEdges) {
  const Csr graph = build_csr(EdgeList{4, {3}, {2}});

  const Neighbourhood held =
      induced_neighbourhood(graph, std::vector<Vertex>{0, 1}, std::vector<Vertex>{2, 3});

  EXPECT_EQ(held.vertices, (std::vector<Vertex>{0, 1}));
  EXPECT_EQ(held.graph.nnz(), 0);
}

}  // namespace
}  // namespace orrery
