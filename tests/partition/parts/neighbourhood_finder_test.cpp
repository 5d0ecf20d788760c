// What parts hold, against breadth-first searches of Boost.Graph and against the whole graph.
#include "core/partition/parts/neighbourhood_finder.hpp"

#include <gtest/gtest.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

using Edges = std::set<std::pair<Vertex, Vertex>>;

Edges edges_of(const Csr& graph) {
  Edges edges;
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v)) edges.emplace(u, static_cast<Vertex>(v));
  return edges;
}

/// Hops of every vertex from the own ones of a part, directions ignored: one vertex more, joined to
/// them, is where the search starts.
std::vector<int> hops_from(const Csr& graph, const Partition& partition, int part) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  const auto n = static_cast<std::size_t>(graph.rows);
  Graph g(n + 1);
  for (const auto& [u, v] : edges_of(graph))
    boost::add_edge(static_cast<std::size_t>(u), static_cast<std::size_t>(v), g);
  for (std::size_t v = 0; v < n; ++v)
    if (partition.owner[v] == part) boost::add_edge(n, v, g);
  std::vector<int> distance(n + 1, -1);
  distance[n] = 0;
  boost::breadth_first_search(g, n,
                              boost::visitor(boost::make_bfs_visitor(boost::record_distances(
                                  distance.data(), boost::on_tree_edge()))));
  for (int& d : distance) d = d < 0 ? 1 << 20 : d - 1;
  distance.pop_back();
  return distance;
}

void expect_part(const Csr& graph, const OwnerOrder& order, int part, int hops,
                 const std::vector<int>& distance, NeighbourhoodFinder& found) {
  found.find(part);
  const auto& vertices = found.vertices();

  std::vector<std::tuple<int, std::int32_t, Vertex>> expected, listed;
  for (std::size_t v = 0; v < distance.size(); ++v)
    if (distance[v] <= hops)
      expected.emplace_back(distance[v], order.owner(static_cast<Vertex>(v)),
                            static_cast<Vertex>(v));
  std::sort(expected.begin(), expected.end());
  for (std::size_t i = 0; i < vertices.size(); ++i)
    listed.emplace_back(found.distance(static_cast<std::int64_t>(i)), order.owner(vertices[i]),
                        vertices[i]);
  ASSERT_EQ(listed, expected);

  Edges expected_edges, edges;
  for (const auto& [u, v] : edges_of(graph)) {
    const int a = distance[static_cast<std::size_t>(u)], b = distance[static_cast<std::size_t>(v)];
    if (hops == 0 ? a == 0 && b == 0 : std::min(a, b) < hops) expected_edges.emplace(u, v);
  }
  std::size_t visits = 0;
  found.for_each_edge([&](Vertex source, Vertex destination) {
    edges.emplace(vertices[static_cast<std::size_t>(source)],
                  vertices[static_cast<std::size_t>(destination)]);
    ++visits;
  });
  ASSERT_EQ(edges, expected_edges);
  ASSERT_EQ(visits, edges.size()) << "an edge was listed twice";
}

/// Every vertex is owned once, and the edges into the own vertices of all parts are the graph.
void expect_whole(const Csr& graph, const OwnerOrder& order, int hops, NeighbourhoodFinder& found) {
  std::multiset<Vertex> owned;
  std::multiset<std::pair<Vertex, Vertex>> edges;
  for (int p = 0; p < order.parts(); ++p) {
    found.find(p);
    const auto& vertices = found.vertices();
    owned.insert(vertices.begin(), vertices.begin() + found.owned());
    found.for_each_edge([&](Vertex source, Vertex destination) {
      if (destination < found.owned())
        edges.emplace(vertices[static_cast<std::size_t>(source)],
                      vertices[static_cast<std::size_t>(destination)]);
    });
  }
  std::multiset<Vertex> all;
  for (std::int64_t v = 0; v < graph.rows; ++v) all.insert(static_cast<Vertex>(v));
  ASSERT_EQ(owned, all);
  const Edges whole = edges_of(graph);
  if (hops >= 1) {
    ASSERT_EQ(edges, std::multiset(whole.begin(), whole.end()));
  }
}

Csr directed_csr(const NamedGraph& graph) {
  EdgeList list{graph.vertices, {}, {}};
  for (const auto& [u, v] : graph.edges) {
    list.source.push_back(u);
    list.destination.push_back(v);
  }
  return build_csr(list);
}

class PartsOf : public ::testing::TestWithParam<std::string> {};

TEST_P(PartsOf, HoldCompleteNeighbourhoodsAndMakeUpTheGraph) {
  PartitionOptions options;
  options.method = GetParam();
  options.seed = 5;
  for (const NamedGraph& named : adversarial_graphs())
    for (const Csr& graph : {symmetric_csr(named), directed_csr(named)})
      for (const int parts : {1, 3, 70}) {
        Partition partition;
        try {
          partition = cut_graph(graph, parts, options).partition;
        } catch (const NotBuilt&) {
          GTEST_SKIP() << "not in this build";
        }
        const OwnerOrder order(partition);
        std::map<int, std::vector<int>> distance;
        for (int p = 0; p < parts; ++p)
          if (p < 4) distance[p] = hops_from(graph, partition, p);
        RowsInMemory rows(graph, is_symmetric(graph));
        for (int hops = 0; hops <= kMostHops; ++hops) {
          SCOPED_TRACE(named.name + ", " + std::to_string(parts) + " parts, " +
                       std::to_string(hops) + " hops");
          NeighbourhoodFinder found(rows, order, hops);
          expect_whole(graph, order, hops, found);
          for (const auto& [part, hops_of] : distance)
            expect_part(graph, order, part, hops, hops_of, found);
          if (HasFatalFailure()) return;
        }
      }
}

TEST_P(PartsOf, AreTheSameForASeedAndAnyNumberOfThreads) {
  PartitionOptions options;
  options.method = GetParam();
  options.seed = 11;
  const Csr graph = symmetric_csr({"random", 3000, random_edges(3000, 20000, 4)});
  const auto owners = [&](int threads) {
    const ThreadPool pool(threads);
    return cut_graph(graph, 8, options).partition.owner;
  };
  std::vector<std::int32_t> one;
  try {
    one = owners(1);
  } catch (const NotBuilt&) {
    GTEST_SKIP() << "not in this build";
  }

  EXPECT_EQ(owners(3), one);
  EXPECT_EQ(owners(1), one);
}

INSTANTIATE_TEST_SUITE_P(Methods, PartsOf,
                         ::testing::ValuesIn(compared_methods().begin(), compared_methods().end()),
                         [](const auto& method) {
                           std::string name = method.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace orrery
