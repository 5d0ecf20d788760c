// The algorithms once more, as their papers say them, with maps and sets and no regard for speed.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/partition/methods/edge_assignment.hpp"
#include "core/partition/methods/spring_merge.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

using Clusters = std::map<int, std::set<Vertex>>;  ///< by the order in which they began

std::map<Vertex, int> degrees_of(const std::vector<Edge>& edges) {
  std::map<Vertex, int> degree;
  for (const auto& [u, v] : edges)
    if (u != v) {
      ++degree[u];
      ++degree[v];
    }
  return degree;
}

int volume_of(const std::set<Vertex>& cluster, std::map<Vertex, int>& degree) {
  int volume = 0;
  for (const Vertex v : cluster) volume += degree[v];
  return volume;
}

int cluster_of(const Clusters& clusters, Vertex v) {
  for (const auto& [c, vertices] : clusters)
    if (vertices.contains(v)) return c;
  return -1;
}

class SpringByTheBook {
 public:
  SpringByTheBook(const std::vector<Edge>& edges, double share) : degree(degrees_of(edges)) {
    double sum = 0;
    for (const auto& [v, d] : degree) sum += d;
    for (const auto& [u, v] : edges)
      if (u != v) take(u, v, share * sum);
    for (auto c = clusters.begin(); c != clusters.end();)
      c = c->second.empty() ? clusters.erase(c) : std::next(c);
  }

  /// Where the vertices of a cluster would go, the richest first.
  std::vector<int> targets(int c) {
    std::vector<std::pair<int, Vertex>> order;
    for (const Vertex v : clusters[c]) order.emplace_back(-degree[richest[v]], v);
    std::sort(order.begin(), order.end());
    std::vector<int> found;
    for (const auto& [negative, v] : order) found.push_back(cluster_of(clusters, richest[v]));
    return found;
  }

  void merge(double most, bool persistent) {
    std::set<std::pair<std::size_t, int>> waiting;
    for (const auto& [c, vertices] : clusters) waiting.insert({vertices.size(), c});
    while (!waiting.empty()) {
      const int c = waiting.begin()->second;
      waiting.erase(waiting.begin());
      for (const int target : targets(c)) {
        const std::size_t together = clusters[c].size() + clusters[target].size();
        if (target != c && static_cast<double>(together) < most) {
          waiting.erase({clusters[target].size(), target});
          clusters[target].insert(clusters[c].begin(), clusters[c].end());
          clusters.erase(c);
          waiting.insert({together, target});
          break;
        }
        if (!persistent) break;  // the representative alone
      }
    }
  }

  std::map<Vertex, int> degree;
  std::map<Vertex, Vertex> richest;
  Clusters clusters;

 private:
  void take(Vertex u, Vertex v, double v_max) {
    for (const Vertex w : {u, v})
      if (cluster_of(clusters, w) < 0) clusters[next_++] = {w};
    const int a = cluster_of(clusters, u), b = cluster_of(clusters, v);
    const int volume_a = volume_of(clusters[a], degree), volume_b = volume_of(clusters[b], degree);
    if (a != b && volume_a < v_max && volume_b < v_max) {
      const bool u_moves = volume_a <= volume_b;
      clusters[u_moves ? a : b].erase(u_moves ? u : v);
      clusters[u_moves ? b : a].insert(u_moves ? u : v);
    }
    for (const auto& [w, x] : {std::pair{u, v}, std::pair{v, u}})
      if (!richest.contains(w) || degree[x] > degree[richest[w]]) richest[w] = x;
  }

  int next_ = 0;
};

void expect_clusters(const Clustering& found, const Clusters& expected) {
  ASSERT_EQ(found.clusters, static_cast<std::int64_t>(expected.size()));
  for (const auto& [c, vertices] : expected) {
    const auto number = found.cluster[static_cast<std::size_t>(*vertices.begin())];
    std::size_t members = 0;
    for (const auto other : found.cluster) members += other == number ? 1 : 0;
    ASSERT_EQ(members, vertices.size());
    for (const Vertex v : vertices)
      ASSERT_EQ(found.cluster[static_cast<std::size_t>(v)], number) << v;
  }
}

TEST(ByTheBook, SpringClustersAndMergesAsThePaperSays) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const double share : {1.0 / 128, 0.05, 0.3})
      for (const double most : {0.1, 0.4}) {
        SCOPED_TRACE(graph.name + ", " + std::to_string(share));
        ListedEdges edges(graph.edges, graph.vertices);
        const StreamCounts counts = count_edges(edges);
        SpringByTheBook book(graph.edges, share);
        Clustering found = cluster_stream(edges, counts.degree, share);

        expect_clusters(found, book.clusters);
        for (const auto& [v, w] : book.richest)
          ASSERT_EQ(found.richest[static_cast<std::size_t>(v)], w);

        Clustering merged = found;
        SpringByTheBook persistent = book;
        const double limit = most * static_cast<double>(graph.vertices);
        book.merge(limit, false);
        merge_clusters(merged, counts.degree, limit);
        expect_clusters(merged, book.clusters);
        persistent.merge(limit, true);
        merge_clusters(found, counts.degree, limit, true);
        expect_clusters(found, persistent.clusters);
      }
}

/// One of the parts that a rule may choose, and the state it needs: loads and A(v).
struct Book {
  explicit Book(int parts) : load(static_cast<std::size_t>(parts)) {}
  void give(const Edge& edge, int part) {
    ++load[static_cast<std::size_t>(part)];
    holds[edge.source].insert(part);
    holds[edge.destination].insert(part);
  }
  /// The least loaded of a set that is not full; -1: none.
  int least(const std::set<int>& among, double most) const {
    int best = -1;
    for (const int p : among)
      if (load[static_cast<std::size_t>(p)] < most &&
          (best < 0 || load[static_cast<std::size_t>(p)] < load[static_cast<std::size_t>(best)]))
        best = p;
    return best;
  }
  std::set<int> all() const {
    std::set<int> parts;
    for (std::size_t p = 0; p < load.size(); ++p) parts.insert(static_cast<int>(p));
    return parts;
  }
  std::vector<double> load;
  std::map<Vertex, std::set<int>> holds;
};

void expect_book(const NamedGraph& graph, const StreamCut& cut, const Book& book) {
  for (std::size_t p = 0; p < book.load.size(); ++p)
    ASSERT_EQ(static_cast<double>(cut.part_edges[p]), book.load[p]) << p;
  for (std::int64_t i = 0; i < graph.vertices; ++i) {
    const auto v = static_cast<Vertex>(i);
    const auto found = book.holds.find(v);
    for (std::size_t p = 0; p < book.load.size(); ++p)
      ASSERT_EQ(cut.replicas.has(v, static_cast<std::int32_t>(p)),
                found != book.holds.end() && found->second.contains(static_cast<int>(p)))
          << v << " " << p;
  }
}

std::vector<Edge> proper(const NamedGraph& graph) {
  std::vector<Edge> edges;
  for (const Edge& edge : graph.edges)
    if (edge.source != edge.destination) edges.push_back(edge);
  return edges;
}

double most_edges(const std::vector<Edge>& edges, int parts) {
  return std::ceil(1.05 * static_cast<double>(edges.size()) / parts);
}

TEST(ByTheBook, DbhHashesTheEndOfLowerDegree) {
  for (const NamedGraph& graph : adversarial_graphs()) {
    auto degree = degrees_of(graph.edges);
    Book book(5);
    for (const Edge& edge : proper(graph)) {
      const auto [u, v] = edge;
      const auto low = std::min(std::pair{degree[u], u}, std::pair{degree[v], v}).second;
      book.give(edge, hashed_part(low, 5, 2));
    }
    ListedEdges edges(graph.edges, graph.vertices);

    SCOPED_TRACE(graph.name);
    expect_book(graph, dbh_partition(edges, 5, 2), book);
  }
}

TEST(ByTheBook, HashedPartsAreEvenAndDependOnTheSeed) {
  std::vector<int> count(7);
  int same = 0;
  for (Vertex v = 0; v < 7000; ++v) {
    ++count[static_cast<std::size_t>(hashed_part(v, 7, 1))];
    same += hashed_part(v, 7, 1) == hashed_part(v, 7, 2) ? 1 : 0;
  }

  for (const int c : count) EXPECT_NEAR(c, 1000, 120);  // four standard deviations
  EXPECT_NEAR(same, 1000, 120);
}

TEST(ByTheBook, PowergraphFollowsItsFourRules) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const int parts : {1, 3, 8}) {
      auto to_come = degrees_of(graph.edges);
      const auto list = proper(graph);
      const double most = most_edges(list, parts);
      Book book(parts);
      for (const Edge& edge : list) {
        const auto [u, v] = edge;
        const auto &a = book.holds[u], &b = book.holds[v];
        std::set<int> both;
        for (const int p : a)
          if (b.contains(p)) both.insert(p);
        int part = book.least(both, most);
        if (part < 0 && !a.empty() && !b.empty())
          part = book.least(to_come[u] >= to_come[v] ? a : b, most);
        else if (part < 0 && a.empty() != b.empty())
          part = book.least(a.empty() ? b : a, most);
        if (part < 0) part = book.least(book.all(), most);
        book.give(edge, part);
        --to_come[u];
        --to_come[v];
      }
      ListedEdges edges(graph.edges, graph.vertices);

      SCOPED_TRACE(graph.name);
      expect_book(graph, powergraph_partition(edges, parts, 1), book);
    }
}

TEST(ByTheBook, HdrfTakesThePartOfTheHighestScore) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const double lambda : {0.0, 1.1, 4.0}) {
      constexpr int kParts = 4;
      const auto list = proper(graph);
      const double most = most_edges(list, kParts);
      std::map<Vertex, double> partial;
      Book book(kParts);
      for (const Edge& edge : list) {
        const auto [u, v] = edge;
        const double d_u = ++partial[u], d_v = ++partial[v];
        const double theta = d_u / (d_u + d_v);
        const double high = *std::max_element(book.load.begin(), book.load.end());
        const double low = *std::min_element(book.load.begin(), book.load.end());
        int best = -1;
        double best_score = 0;
        for (int p = 0; p < kParts; ++p) {
          if (book.load[static_cast<std::size_t>(p)] >= most) continue;
          double score =
              lambda / (1 + high - low) * (high - book.load[static_cast<std::size_t>(p)]);
          double replicated = 0;
          if (book.holds[u].contains(p)) replicated += 1 + (1 - theta);
          if (book.holds[v].contains(p)) replicated += 1 + theta;
          score += replicated;
          if (best < 0 || score > best_score + 1e-12) {
            best = p;
            best_score = score;
          }
        }
        book.give(edge, best);
      }
      ListedEdges edges(graph.edges, graph.vertices);

      SCOPED_TRACE(graph.name + " " + std::to_string(lambda));
      expect_book(graph, hdrf_partition(edges, kParts, 1, {lambda, 1.05}), book);
    }
}

TEST(ByTheBook, TwoPsLClustersThenScoresTwoParts) {
  for (const NamedGraph& graph : adversarial_graphs()) {
    constexpr int kParts = 3;
    auto degree = degrees_of(graph.edges);
    const auto list = proper(graph);
    const double v_max = 2 * static_cast<double>(list.size()) / kParts;
    Clusters clusters;
    int next = 0;
    for (const auto& [u, v] : list) {
      for (const Vertex w : {u, v})
        if (cluster_of(clusters, w) < 0) clusters[next++] = {w};
      const int a = cluster_of(clusters, u), b = cluster_of(clusters, v);
      const int volume_a = volume_of(clusters[a], degree),
                volume_b = volume_of(clusters[b], degree);
      if (a == b || volume_a > v_max || volume_b > v_max) continue;
      const bool u_moves = volume_a - degree[u] <= volume_b - degree[v];
      const Vertex mover = u_moves ? u : v;
      if ((u_moves ? volume_b : volume_a) + degree[mover] > v_max) continue;
      clusters[u_moves ? a : b].erase(mover);
      clusters[u_moves ? b : a].insert(mover);
    }
    std::set<std::pair<int, int>> by_volume;  // (- volume, cluster)
    for (const auto& [c, vertices] : clusters) by_volume.insert({-volume_of(vertices, degree), c});
    Book scheduled(kParts);
    std::map<Vertex, int> part_of;
    std::map<Vertex, double> volume;
    for (const auto& [negative, c] : by_volume) {
      const int part = scheduled.least(scheduled.all(), 1e9);
      scheduled.load[static_cast<std::size_t>(part)] -= negative;
      for (const Vertex v : clusters[c]) {
        part_of[v] = part;
        volume[v] = -negative;
      }
    }
    Book book(kParts);
    const double most = most_edges(list, kParts);
    const auto give = [&](const Edge& edge, int part) {
      const auto [u, v] = edge;
      if (book.load[static_cast<std::size_t>(part)] >= most)
        part = hashed_part(degree[u] >= degree[v] ? u : v, kParts, 4);
      if (book.load[static_cast<std::size_t>(part)] >= most) part = book.least(book.all(), most);
      book.give(edge, part);
    };
    for (const Edge& edge : list)
      if (part_of[edge.source] == part_of[edge.destination]) give(edge, part_of[edge.source]);
    for (const Edge& edge : list) {
      const auto [u, v] = edge;
      if (part_of[u] == part_of[v]) continue;
      const auto score = [&](int p) {
        const double all = degree[u] + degree[v];
        double sum = 0;
        if (book.holds[u].contains(p)) sum += 1 + (1 - degree[u] / all);
        if (book.holds[v].contains(p)) sum += 1 + (1 - degree[v] / all);
        sum += volume[part_of[u] == p ? u : v] / (volume[u] + volume[v]);
        return sum;
      };
      const double first = score(part_of[u]), second = score(part_of[v]);
      give(edge, first >= second - 1e-12 ? part_of[u] : part_of[v]);
    }
    ListedEdges edges(graph.edges, graph.vertices);

    SCOPED_TRACE(graph.name);
    expect_book(graph, two_ps_l_partition(edges, kParts, 4), book);
  }
}

/// Both vertex streams, with the score as the papers write it.
TEST(ByTheBook, LdgAndFennelMaximiseTheirScores) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const bool fennel : {false, true}) {
      constexpr int kParts = 4;
      const Csr csr = symmetric_csr(graph);
      const double n = static_cast<double>(graph.vertices);
      const double m = static_cast<double>(csr.nnz() / 2);
      const double most = (fennel ? 1.1 : 1.05) * n / kParts;
      std::vector<std::set<Vertex>> parts(kParts);
      std::vector<std::int32_t> owner;
      for (std::int64_t v = 0; v < csr.rows; ++v) {
        std::map<std::tuple<double, double, int>, int> ranked;  // best first
        for (int p = 0; p < kParts; ++p) {
          const auto& part = parts[static_cast<std::size_t>(p)];
          const double size = static_cast<double>(part.size());
          if (size >= most) continue;
          double there = 0;
          for (const Vertex u : csr.row(v)) there += part.contains(u) ? 1 : 0;
          const double score =
              fennel ? there - std::sqrt(kParts) * m / std::pow(n, 1.5) * 1.5 * std::pow(size, 0.5)
                     : there * (1 - size / most);
          ranked[{-score, size, p}] = p;
        }
        owner.push_back(ranked.begin()->second);
        parts[static_cast<std::size_t>(owner.back())].insert(static_cast<Vertex>(v));
      }
      CsrVertices vertices(csr);

      EXPECT_EQ(fennel ? fennel_partition(vertices, kParts).partition.owner
                       : ldg_partition(vertices, kParts).partition.owner,
                owner)
          << graph.name << (fennel ? " fennel" : " ldg");
    }
}

}  // namespace
}  // namespace orrery
