// What must hold for every method on every graph.
#include "core/partition/methods/streaming.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/methods/spring_merge.hpp"
#include "core/partition/partition_options.hpp"
#include "tests/partition/graphs.hpp"
#include "tests/partition/part_sizes.hpp"

namespace orrery {
namespace {

const std::vector<int> kParts{1, 2, 3, 8, 17, 100};

PartitionOptions by(const std::string& method, std::uint64_t seed = 1) {
  PartitionOptions options;
  options.method = method;
  options.seed = seed;
  return options;
}

TEST(Streaming, EveryVertexHasOneOwnerUnderEveryMethod) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const auto& method : compared_methods())
      for (const int parts : kParts) {
        if (method == "ptscotch") continue;  // ptscotch_test.cpp, with fewer jobs
        SCOPED_TRACE(graph.name + ", " + method + ", " + std::to_string(parts));
        Partition p;
        try {
          p = cut_graph(symmetric_csr(graph), parts, by(method)).partition;
        } catch (const NotBuilt&) {
          continue;
        }

        ASSERT_EQ(p.parts, parts);
        ASSERT_EQ(static_cast<std::int64_t>(p.owner.size()), graph.vertices);
        for (const auto owner : p.owner) ASSERT_TRUE(0 <= owner && owner < parts) << owner;
      }
}

TEST(Streaming, TheSameSeedGivesTheSameCutForAnyNumberOfThreads) {
  const NamedGraph graph{"random", 300, random_edges(300, 2000, 9)};
  for (const auto& method : compared_methods()) {
    if (method == "metis" || method == "ptscotch") continue;  // not in every build
    const Csr csr = symmetric_csr(graph);
    const Partition serial = cut_graph(csr, 5, by(method)).partition;
    const ThreadPool pool(3);

    EXPECT_EQ(cut_graph(csr, 5, by(method)).partition.owner, serial.owner) << method;
  }
}

TEST(Streaming, TheSeedMattersWhereThereIsADraw) {
  const NamedGraph graph{"random", 300, random_edges(300, 2000, 9)};
  ListedEdges edges(graph.edges, graph.vertices);
  for (const std::string method : {"hash", "dbh", "powergraph", "hdrf", "2ps-l"})
    EXPECT_NE(cut_stream(edges, 5, by(method, 1)).partition.owner,
              cut_stream(edges, 5, by(method, 2)).partition.owner)
        << method;
}

/// The ends of every edge meet in a part, and only parts with an edge of a vertex hold it.
TEST(Streaming, EdgePartitionersHoldBothEndsOfEveryEdgeTogether) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const std::string method : {"dbh", "powergraph", "hdrf", "2ps-l"})
      for (const int parts : kParts) {
        SCOPED_TRACE(graph.name + ", " + method + ", " + std::to_string(parts));
        ListedEdges edges(graph.edges, graph.vertices);
        const StreamCut cut = cut_stream(edges, parts, by(method));

        std::vector<int> degree(static_cast<std::size_t>(graph.vertices));
        std::int64_t proper = 0;
        for (const auto& [u, v] : graph.edges) {
          if (u == v) continue;
          ++proper;
          ++degree[static_cast<std::size_t>(u)];
          ++degree[static_cast<std::size_t>(v)];
          bool together = false;
          for (std::int32_t p = 0; p < parts; ++p)
            together |= cut.replicas.has(u, p) && cut.replicas.has(v, p);
          ASSERT_TRUE(together) << u << " " << v;
        }
        ASSERT_EQ(std::accumulate(cut.part_edges.begin(), cut.part_edges.end(), std::int64_t{0}),
                  proper);
        for (std::int64_t i = 0; i < graph.vertices; ++i) {
          const auto v = static_cast<Vertex>(i);
          const int held = cut.replicas.count(v), d = degree[static_cast<std::size_t>(i)];
          ASSERT_TRUE(d == 0 ? held == 0 : 1 <= held && held <= d) << v;
          if (held > 0) {
            ASSERT_TRUE(cut.replicas.has(v, cut.partition.owner[static_cast<std::size_t>(i)])) << v;
          }
        }
      }
}

/// Brute force over all edges and parts: what the partitioner told of each edge of its stream,
/// which holds both directions of every one.
TEST(Fragments, HaveEveryEdgeWhereThePartitionerPutIt) {
  for (const NamedGraph& named : adversarial_graphs())
    for (const std::string method : {"dbh", "powergraph", "hdrf", "2ps-l"})
      for (const bool symmetric : {true, false}) {
        SCOPED_TRACE(named.name + ", " + method + (symmetric ? ", symmetric" : ", directed"));
        constexpr int kThree = 3;
        const Csr graph = graph_of(named, symmetric), both = symmetric_csr(named);
        using Pair = std::pair<Vertex, Vertex>;  // in-neighbour, vertex
        std::map<Pair, std::multiset<std::int32_t>> told;
        PartitionOptions options = by(method);
        options.assigned = [&](const Edge& edge, std::int32_t part) {
          told[{edge.source, edge.destination}].insert(part);
        };
        const StreamCut cut = cut_graph(both, kThree, options);
        const Partition& owners = cut.partition;

        const Partition partition = cut_into_fragments(graph, kThree, by(method));

        ASSERT_EQ(partition.owner, owners.owner) << "the cut is the same";
        ASSERT_EQ(partition.fragments->size(), std::size_t{kThree});
        for (std::int32_t p = 0; p < kThree; ++p) {
          std::set<Pair> has, want;
          for (const auto& [u, v] : (*partition.fragments)[static_cast<std::size_t>(p)])
            EXPECT_TRUE(has.insert({u, v}).second) << "twice";
          for (Vertex v = 0; v < graph.rows; ++v)
            for (const Vertex u : graph.row(v)) {
              const bool loop = u == v && owners.owner[static_cast<std::size_t>(v)] == p;
              if (loop || told[{u, v}].contains(p) || told[{v, u}].contains(p)) want.insert({u, v});
            }
          EXPECT_EQ(has, want) << p;
          for (Vertex v = 0; v < graph.rows; ++v) {
            const bool held = std::any_of(has.begin(), has.end(), [&](const Pair& pair) {
              return pair.first != pair.second && (pair.first == v || pair.second == v);
            });
            EXPECT_EQ(held, cut.replicas.has(v, p));
          }
        }
        for (const auto& [pair, parts] : told)
          EXPECT_EQ(parts.size(), pair.first == pair.second ? 0U : 1U) << "once for each direction";
      }
}

TEST(Fragments, AreMadeByMethodsThatGiveEdges) {
  const Csr graph = symmetric_csr({"two vertices", 2, {{0, 1}}});
  for (const std::string method : {"hash", "spring", "metis", "ldg"})
    EXPECT_THROW(cut_into_fragments(graph, 2, by(method)), ConfigError);
}

TEST(Streaming, NoPartHasMoreEdgesThanItsBound) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const std::string method : {"powergraph", "hdrf", "2ps-l"})
      for (const int parts : kParts) {
        ListedEdges edges(graph.edges, graph.vertices);
        const StreamCut cut = cut_stream(edges, parts, by(method));
        const auto all = static_cast<double>(
            std::accumulate(cut.part_edges.begin(), cut.part_edges.end(), std::int64_t{0}));

        for (const auto load : cut.part_edges)
          EXPECT_LE(static_cast<double>(load), std::ceil(1.05 * all / parts))
              << graph.name << ", " << method << ", " << parts;
      }
}

TEST(Streaming, VertexStreamsKeepTheirBoundOnVertices) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const auto& [method, balance] :
         {std::pair<std::string, double>{"ldg", 1.05}, {"fennel", 1.1}})
      for (const int parts : kParts) {
        const Partition p = cut_graph(symmetric_csr(graph), parts, by(method)).partition;

        for (const auto size : sizes_of(p))
          EXPECT_LE(static_cast<double>(size),
                    std::ceil(balance * static_cast<double>(graph.vertices) / parts))
              << graph.name << ", " << method << ", " << parts;
      }
}

/// List scheduling: when the fullest part got its last cluster it was the least loaded, so it had
/// at most the mean before; and no merged cluster has more than the merge bound or one cluster
/// before.
TEST(Streaming, SpringsFullestPartHasAtMostTheMeanAndOneCluster) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const int parts : kParts) {
      ListedEdges edges(graph.edges, graph.vertices);
      const StreamCounts counts = count_edges(edges);
      const SpringOptions options;
      Clustering clustering = cluster_stream(edges, counts.degree, options.max_volume / parts);
      merge_clusters(clustering, counts.degree,
                     options.balance / parts * static_cast<double>(graph.vertices));
      const auto clusters = cluster_sizes(clustering);
      const double largest =
          clusters.empty() ? 1 : *std::max_element(clusters.begin(), clusters.end());
      const StreamCut cut = spring_partition(edges, parts, options);

      for (const auto size : sizes_of(cut.partition))
        EXPECT_LE(static_cast<double>(size), static_cast<double>(graph.vertices) / parts + largest)
            << graph.name << ", " << parts;
      EXPECT_LE(cut.after->count, cut.before->count);
    }
}

TEST(Streaming, DegreeBlocksAreRunsOfNearlyEqualWork) {
  for (const NamedGraph& graph : adversarial_graphs()) {
    const Csr csr = symmetric_csr(graph);
    const Partition p = partition_graph(csr, 4, by("degree_block"));

    EXPECT_TRUE(std::is_sorted(p.owner.begin(), p.owner.end())) << graph.name;
    std::vector<double> work(4);
    double largest = 0;
    for (std::int64_t v = 0; v < csr.rows; ++v) {
      const auto w = static_cast<double>(1 + csr.degree(v));
      work[static_cast<std::size_t>(p.owner[static_cast<std::size_t>(v)])] += w;
      largest = std::max(largest, w);
    }
    for (const double w : work)
      EXPECT_LE(w, static_cast<double>(csr.rows + csr.nnz()) / 4 + largest) << graph.name;
  }
}

TEST(Streaming, AStreamIsNotCutByMethodsThatNeedTheGraph) {
  ListedEdges edges({{0, 1}}, 2);
  for (const std::string method : {"metis", "ldg", "block"}) try {
      cut_stream(edges, 2, by(method));
      FAIL() << method;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("does not cut a stream of edges, use one of: hash"),
                std::string::npos)
          << error.what();
    }
}

TEST(Streaming, TwoLevelsKeepEveryServersPartsInsideIt) {
  NamedGraph graph{"two communities", 80, {}};
  for (const auto& [u, v] : random_edges(40, 400, 3)) {
    graph.edges.push_back({u, v});
    graph.edges.push_back({u + 40, v + 40});
  }
  graph.edges.push_back({0, 40});
  PartitionOptions options = by("metis");
  options.metis.servers = 2;
  Partition p;
  try {
    p = partition_graph(symmetric_csr(graph), 6, options);
  } catch (const NotBuilt& error) {
    GTEST_SKIP() << error.what();
  }

  std::set<std::int32_t> first, second;
  for (std::size_t v = 0; v < 80; ++v) (v < 40 ? first : second).insert(p.owner[v] / 3);
  EXPECT_EQ(first.size(), 1U) << "a community is cut by the first level";
  EXPECT_EQ(second.size(), 1U);
  EXPECT_NE(*first.begin(), *second.begin());
  for (const auto size : sizes_of(p)) EXPECT_GT(size, 0);
}

}  // namespace
}  // namespace orrery
