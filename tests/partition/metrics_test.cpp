#include "core/partition/metrics.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

PartitionOptions by(const std::string& method) {
  PartitionOptions options;
  options.method = method;
  return options;
}

/// Σ_p |owned_p ∪ replicas_p ∪ N(owned_p)| / |V|, with sets, as it is written.
double replication_by_sets(const NamedGraph& graph, const StreamCut& cut, std::size_t part_limit) {
  double held = 0;
  for (std::size_t p = 0; p < part_limit; ++p) {
    const auto part = static_cast<std::int32_t>(p);
    std::set<Vertex> vertices;
    const auto owned = [&](Vertex v) {
      return cut.partition.owner[static_cast<std::size_t>(v)] == part;
    };
    for (std::int64_t i = 0; i < graph.vertices; ++i) {
      const auto v = static_cast<Vertex>(i);
      if (owned(v) || (!cut.replicas.empty() && cut.replicas.has(v, part))) vertices.insert(v);
    }
    for (const auto& [u, v] : graph.edges) {
      if (owned(u)) vertices.insert(v);
      if (owned(v)) vertices.insert(u);
    }
    held += static_cast<double>(vertices.size());
  }
  return held / static_cast<double>(graph.vertices);
}

TEST(CutMetrics, ReplicationFactorIsThatOfTheSets) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const std::string method : {"spring", "dbh", "hdrf", "powergraph", "2ps-l", "hash"})
      for (const int parts : {1, 3, 9}) {
        ListedEdges edges(graph.edges, graph.vertices);
        const StreamCut cut = cut_stream(edges, parts, by(method));

        EXPECT_DOUBLE_EQ(measure_cut(edges, cut.partition, cut.replicas).replication_factor,
                         replication_by_sets(graph, cut, static_cast<std::size_t>(parts)))
            << graph.name << ", " << method << ", " << parts;
      }
}

/// In memory, rows are in-neighbours: the same as the definition that walks over them.
TEST(CutMetrics, OfADirectedGraphInMemoryCountsInNeighbours) {
  EdgeList list{50, {}, {}};
  for (const auto& [u, v] : random_edges(50, 200, 4)) {
    if (u == v) continue;
    list.source.push_back(u);
    list.destination.push_back(v);
  }
  const Csr graph = build_csr(list);
  const StreamCut cut = cut_graph(graph, 4, by("hdrf"));
  CsrEdges rows(graph);
  const CutMetrics m = measure_cut(rows, cut.partition, {}, Neighbours::of_row);

  EXPECT_DOUBLE_EQ(m.replication_factor, replication_factor(graph, cut.partition));
  EXPECT_DOUBLE_EQ(m.edge_cut, edge_cut(graph, cut.partition));
  EXPECT_DOUBLE_EQ(m.vertex_balance, balance(cut.partition));
}

/// Path 0 - 1 - 2 - 3 cut into {0, 1, 2} and {3}: the parts need 3 and 2 of each other.
TEST(CutMetrics, HaloRowsAndBalancesByHand) {
  ListedEdges edges({{0, 1}, {1, 2}, {2, 3}}, 4);
  const CutMetrics m = measure_cut(edges, {2, {0, 0, 0, 1}}, {});

  EXPECT_EQ(m.halo_rows, (std::vector<std::vector<std::int64_t>>{{1, 1}}));
  EXPECT_DOUBLE_EQ(m.replication_factor, 6.0 / 4);
  EXPECT_DOUBLE_EQ(m.edge_cut, 1.0 / 3);
  EXPECT_DOUBLE_EQ(m.vertex_balance, 3.0 / 2);
  EXPECT_DOUBLE_EQ(m.edge_balance, 5.0 / 3);
}

/// Vertices at distance exactly h of what a part owns, by breadth-first search from it.
std::vector<std::int64_t> rows_at_distance(const NamedGraph& graph, const Partition& partition,
                                           std::int32_t part, int hops) {
  std::set<Vertex> inside;
  for (std::int64_t v = 0; v < graph.vertices; ++v)
    if (partition.owner[static_cast<std::size_t>(v)] == part) inside.insert(static_cast<Vertex>(v));
  std::vector<std::int64_t> rows;
  for (int hop = 0; hop < hops; ++hop) {
    std::set<Vertex> next;
    for (const auto& [u, v] : graph.edges) {
      if (inside.contains(u) && !inside.contains(v)) next.insert(v);
      if (inside.contains(v) && !inside.contains(u)) next.insert(u);
    }
    rows.push_back(static_cast<std::int64_t>(next.size()));
    inside.insert(next.begin(), next.end());
  }
  return rows;
}

TEST(CutMetrics, HaloRowsOfEveryHopAreThoseOfASearch) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const int parts : {1, 3, 9}) {
      ListedEdges edges(graph.edges, graph.vertices);
      const StreamCut cut = cut_stream(edges, parts, by("hash"));
      const CutMetrics m = measure_cut(edges, cut.partition, {}, Neighbours::both, 3);
      ASSERT_EQ(m.halo_rows.size(), 3U);

      for (std::int32_t part = 0; part < parts; ++part) {
        const auto expected = rows_at_distance(graph, cut.partition, part, 3);
        for (std::size_t hop = 0; hop < 3; ++hop)
          EXPECT_EQ(m.halo_rows[hop][static_cast<std::size_t>(part)], expected[hop])
              << graph.name << ", part " << part << ", hop " << hop + 1;
      }
    }
}

TEST(Replicas, TheIthPartIsTheIthSetBit) {
  Replicas replicas(3, 20);
  for (const std::int32_t part : {2, 7, 8, 19}) replicas.add(1, part);

  EXPECT_EQ(replicas.count(0) + replicas.count(2), 0);
  EXPECT_EQ(replicas.count(1), 4);
  EXPECT_EQ(replicas.total(), 4);
  EXPECT_EQ(replicas.at(1, 0), 2);
  EXPECT_EQ(replicas.at(1, 1), 7);
  EXPECT_EQ(replicas.at(1, 2), 8);
  EXPECT_EQ(replicas.at(1, 3), 19);
}

/// Each of three parts owns a third of 4000 vertices, within four standard deviations.
TEST(Replicas, OwnersAreDrawnEvenly) {
  Replicas replicas(4000, 9);
  for (Vertex v = 0; v < 4000; ++v)
    for (const std::int32_t part : {1, 4, 8}) replicas.add(v, part);
  std::vector<int> owned(9);
  for (const auto p : draw_owners(replicas, 4000, 9, 5).owner) ++owned[static_cast<std::size_t>(p)];

  for (const std::size_t part : {1U, 4U, 8U}) EXPECT_NEAR(owned[part], 4000.0 / 3, 120);
  EXPECT_EQ(owned[1] + owned[4] + owned[8], 4000);
}

}  // namespace
}  // namespace orrery
