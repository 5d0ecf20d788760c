// Which external vertices are sampled, against sets and counts made anew at every choice.
#include "core/sample/expansion_sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr auto kConnections = ExpansionRule::connections;
constexpr auto kArtifact = ExpansionRule::granndis_artifact;

/// Every third vertex.
std::vector<Vertex> some_of(const Csr& graph) {
  std::vector<Vertex> own;
  for (Vertex v = 0; v < graph.rows; v += 3) own.push_back(v);
  return own;
}

std::set<std::pair<Vertex, Vertex>> edges_of(const Csr& graph) {  // (source, destination)
  std::set<std::pair<Vertex, Vertex>> edges;
  for (Vertex v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v)) edges.emplace(u, v);
  return edges;
}

/// The rule as it reads: the whole list of edges is searched at every choice.
std::set<Vertex> connections_by_definition(const Csr& graph, const std::vector<Vertex>& own,
                                           int hops, int fanout, std::uint64_t draw) {
  const auto edges = edges_of(graph);
  std::set<Vertex> held(own.begin(), own.end()), last = held;
  for (int round = 1; round <= hops; ++round) {
    std::map<std::pair<std::uint64_t, Vertex>, Vertex> turns;
    for (const auto& [u, v] : edges)
      if (last.contains(v) && !held.contains(u))
        turns[{expansion_priority(kSeed, draw, round, v), v}] = v;
    last.clear();
    for (const auto& [key, v] : turns) {
      std::set<std::tuple<int, std::uint64_t, Vertex>> ranked;
      for (const auto& [u, destination] : edges) {
        if (destination != v || held.contains(u)) continue;
        const auto connections = std::count_if(edges.begin(), edges.end(), [&](const auto& edge) {
          return edge.first == u && held.contains(edge.second);
        });
        ranked.emplace(-static_cast<int>(connections), expansion_priority(kSeed, draw, round, u),
                       u);
      }
      int added = 0;
      for (const auto& [connections, tie, u] : ranked) {
        if (added++ == fanout) break;
        held.insert(u);
        last.insert(u);
      }
    }
  }
  for (const Vertex v : own) held.erase(v);
  return held;
}

/// The vertices from which a path of at most `hops` edges leads to an own one.
std::set<Vertex> reached_within(const Csr& graph, const std::vector<Vertex>& own, int hops) {
  std::set<Vertex> reached(own.begin(), own.end());
  for (int hop = 0; hop < hops; ++hop) {
    const std::set<Vertex> before = reached;
    for (const auto& [u, v] : edges_of(graph))
      if (before.contains(v)) reached.insert(u);
  }
  for (const Vertex v : own) reached.erase(v);
  return reached;
}

std::set<Vertex> sample(const Csr& graph, const std::vector<Vertex>& own, int hops, int fanout,
                        ExpansionRule rule, std::uint64_t draw = 0, std::uint64_t seed = kSeed) {
  const auto list = sample_expansion(graph, own, {hops, fanout, rule}, seed, draw);
  EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
  std::set<Vertex> set(list.begin(), list.end());
  EXPECT_EQ(set.size(), list.size()) << "a vertex is listed twice";
  return set;
}

std::vector<NamedGraph> graphs() {
  auto list = adversarial_graphs();
  list.push_back({"sparse", 40, random_edges(40, 60, 5)});
  list.push_back({"dense", 60, random_edges(60, 600, 6)});
  return list;
}

template <class Check>
void for_all_graphs(const Check& check) {
  for (const NamedGraph& named : graphs())
    for (const bool symmetric : {true, false}) {
      SCOPED_TRACE(named.name + (symmetric ? ", symmetric" : ", directed"));
      const Csr graph = graph_of(named, symmetric);
      check(graph, some_of(graph));
    }
}

TEST(Expansion, ByConnectionsIsWhatItsRuleSays) {
  for_all_graphs([](const Csr& graph, const std::vector<Vertex>& own) {
    for (int hops = 1; hops <= 3; ++hops)
      for (const int fanout : {1, 2, 5}) {
        const auto external = sample(graph, own, hops, fanout, kConnections, 3);

        EXPECT_EQ(external, connections_by_definition(graph, own, hops, fanout, 3))
            << hops << " hops, fanout " << fanout;
      }
  });
}

TEST(Expansion, StaysWithinTheHopsOfEitherRule) {
  for_all_graphs([](const Csr& graph, const std::vector<Vertex>& own) {
    for (const auto rule : {kConnections, kArtifact})
      for (int hops = 1; hops <= 3; ++hops) {
        const auto external = sample(graph, own, hops, 2, rule);

        const auto reachable = reached_within(graph, own, hops);
        EXPECT_TRUE(
            std::includes(reachable.begin(), reachable.end(), external.begin(), external.end()));
      }
  });
}

TEST(Expansion, WithAFanoutAboveAllDegreesTakesTheWholeNeighbourhood) {
  for_all_graphs([](const Csr& graph, const std::vector<Vertex>& own) {
    for (const auto rule : {kConnections, kArtifact})
      for (int hops = 1; hops <= 3; ++hops)
        EXPECT_EQ(sample(graph, own, hops, 100, rule), reached_within(graph, own, hops));
  });
}

TEST(Expansion, BringsAtMostFanoutNewOnesPerBoundaryVertexAndAtLeastOneWhereThereIsOne) {
  for_all_graphs([](const Csr& graph, const std::vector<Vertex>& own) {
    const std::set<Vertex> inner(own.begin(), own.end());
    std::set<Vertex> boundary;
    for (const auto& [u, v] : edges_of(graph))
      if (inner.contains(v) && !inner.contains(u)) boundary.insert(v);

    const auto external = sample(graph, own, 1, 2, kConnections);

    EXPECT_LE(external.size(), 2 * boundary.size());
    for (const Vertex v : boundary) {
      const auto row = graph.row(v);
      EXPECT_TRUE(
          std::any_of(row.begin(), row.end(), [&](Vertex u) { return external.contains(u); }))
          << "of " << v;
    }
  });
}

/// 0, 1 and 2 are own. 3 has edges to all of them, 4 to two, each of the others to one.
TEST(Expansion, PrefersWhatIsConnectedToMoreOfWhatIsHeld) {
  const Csr graph = build_csr(
      EdgeList{12, {3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11}, {0, 1, 2, 0, 1, 0, 0, 1, 1, 2, 2, 2}});

  for (std::uint64_t draw = 0; draw < 20; ++draw) {
    const auto external = sample(graph, {0, 1, 2}, 1, 1, kConnections, draw);

    // Whoever comes first takes 3, and whichever of 0 and 1 comes later takes 4: vertex 3, which
    // was taken, does not count as a new connection of theirs.
    EXPECT_TRUE(external.contains(3));
    EXPECT_TRUE(external.contains(4));
    EXPECT_EQ(external.size(), 3U);
  }
}

TEST(Expansion, OfAStarByHand) {
  EdgeList star{9, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 0, 0, 0, 0, 0, 0, 0}};
  const Csr graph = symmetrise(build_csr(star));

  EXPECT_EQ(sample(graph, {1, 2, 3}, 1, 15, kConnections), (std::set<Vertex>{0}));
  EXPECT_EQ(sample(graph, {1, 2, 3}, 2, 2, kConnections).size(), 3U);  // the centre and two leaves
  EXPECT_EQ(sample(graph, {0}, 1, 3, kConnections).size(), 3U);
  EXPECT_EQ(sample(graph, {0}, 1, 3, kArtifact).size(), 3U);
}

TEST(Expansion, OfTheArtifactDrawsAmongInnerNeighboursToo) {
  // 0 has nine own in-neighbours and one external one: with a fanout of 1 that is drawn in one of
  // ten cases, while the paper's rule always takes it.
  EdgeList list{11, {}, {}};
  std::vector<Vertex> own{0};
  for (Vertex u = 1; u <= 10; ++u) {
    list.source.push_back(u);
    list.destination.push_back(0);
    if (u < 10) own.push_back(u);
  }
  const Csr graph = build_csr(list);
  constexpr int kDraws = 2000;

  int drawn = 0;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw)
    drawn += static_cast<int>(sample(graph, own, 1, 1, kArtifact, draw).size());

  EXPECT_NEAR(drawn, kDraws / 10.0, 5 * 13.4);  // five standard deviations, sqrt(2000·0.1·0.9)
  EXPECT_EQ(sample(graph, own, 1, 1, kConnections), (std::set<Vertex>{10}));
}

TEST(Expansion, OfTheArtifactDrawsUniformlyAndAnewInEveryRound) {
  EdgeList list{11, {}, {}};
  for (Vertex u = 1; u <= 10; ++u) {
    list.source.push_back(u);
    list.destination.push_back(0);
  }
  const Csr graph = build_csr(list);
  constexpr int kDraws = 2000;

  std::map<Vertex, int> count;
  double both_rounds = 0;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    for (const Vertex u : sample(graph, {0}, 1, 3, kArtifact, draw)) ++count[u];
    both_rounds += static_cast<double>(sample(graph, {0}, 2, 3, kArtifact, draw).size()) / kDraws;
  }

  for (Vertex u = 1; u <= 10; ++u)
    EXPECT_NEAR(count[u], 0.3 * kDraws, 5 * 20.5);      // sqrt(2000·0.3·0.7)
  EXPECT_NEAR(both_rounds, 10 * (1 - 0.7 * 0.7), 0.1);  // two draws of 3 in 10, independent
}

TEST(Expansion, IsTheSameForTheSameSeedAndAnotherForAnotherDraw) {
  const Csr graph = symmetrise(graph_of({"dense", 200, random_edges(200, 3000, 9)}, true));
  const auto own = some_of(graph);

  for (const auto rule : {kConnections, kArtifact}) {
    const auto first = sample(graph, own, 1, 1, rule);

    EXPECT_EQ(first, sample(graph, own, 1, 1, rule));
    EXPECT_NE(first, sample(graph, own, 1, 1, rule, 1));
    EXPECT_NE(first, sample(graph, own, 1, 1, rule, std::uint64_t{1} << 32U));
    EXPECT_NE(first, sample(graph, own, 1, 1, rule, 0, kSeed + 1));
  }
}

TEST(Expansion, OfNothingIsNothing) {
  const Csr graph = graph_of({"path", 3, {{0, 1}, {1, 2}}}, true);

  for (const auto rule : {kConnections, kArtifact}) {
    EXPECT_TRUE(sample(graph, {}, 2, 3, rule).empty());
    EXPECT_TRUE(sample(graph, {0, 1, 2}, 2, 3, rule).empty());
  }
}

}  // namespace
}  // namespace orrery
