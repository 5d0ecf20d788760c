// Graphs that partitioners stumble over, as lists of edges.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "core/partition/edges/edge_stream.hpp"

namespace orrery {

/// Edges of a list, in blocks of a few, so that every pass crosses blocks.
class ListedEdges final : public EdgeStream {
 public:
  explicit ListedEdges(std::vector<Edge> edges, std::int64_t vertices = 0, std::size_t block = 5)
      : edges_(std::move(edges)), vertices_(vertices), block_(block) {}
  std::int64_t known_vertices() const override { return vertices_; }
  void rewind() override { next_ = 0; }
  std::span<const Edge> next() override {
    const std::size_t count = std::min(block_, edges_.size() - next_);
    next_ += count;
    return {edges_.data() + next_ - count, count};
  }
  const std::vector<Edge>& all() const { return edges_; }

 private:
  std::vector<Edge> edges_;
  std::int64_t vertices_;
  std::size_t block_, next_ = 0;
};

struct NamedGraph {
  std::string name;
  std::int64_t vertices;
  std::vector<Edge> edges;
};

inline std::vector<Edge> random_edges(std::int64_t vertices, std::size_t edges,
                                      std::uint64_t seed) {
  Sequence draws(seed, Purpose::edges, 0);
  const auto n = static_cast<std::uint64_t>(vertices);
  std::vector<Edge> list;
  // The smaller of two draws, so that degrees are skewed.
  const auto skewed = [&] { return static_cast<Vertex>(std::min(draws.below(n), draws.below(n))); };
  while (list.size() < edges) list.push_back({skewed(), static_cast<Vertex>(draws.below(n))});
  return list;
}

inline std::vector<NamedGraph> adversarial_graphs() {
  std::vector<NamedGraph> graphs{{"one vertex", 1, {}},
                                 {"no edges", 9, {}},
                                 {"one vertex with a loop", 1, {{0, 0}}},
                                 {"two vertices", 2, {{0, 1}}}};
  NamedGraph star{"star", 40, {}}, path{"path", 40, {}}, clique{"clique", 12, {}},
      bipartite{"bipartite", 15, {}}, isolated{"mostly isolated", 50, {{7, 31}, {31, 44}}},
      repeated{"duplicate edges and loops", 6, {}};
  for (Vertex v = 1; v < 40; ++v) {
    star.edges.push_back({0, v});
    path.edges.push_back({v, v - 1});
  }
  for (Vertex v = 0; v < 12; ++v)
    for (Vertex u = 0; u < v; ++u) clique.edges.push_back({u, v});
  for (Vertex v = 0; v < 15; ++v)
    for (Vertex u = 0; u < v; ++u)
      if (u < 5 && v >= 5) bipartite.edges.push_back({u, v});
  for (int i = 0; i < 4; ++i)
    for (const Edge edge : {Edge{0, 1}, Edge{1, 0}, Edge{2, 2}, Edge{3, 1}, Edge{4, 4}})
      repeated.edges.push_back(edge);
  for (const auto& graph : {star, path, clique, bipartite, isolated, repeated})
    graphs.push_back(graph);
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    graphs.push_back({"random " + std::to_string(seed), 60, random_edges(60, 40 << seed, seed)});
  return graphs;
}

/// The graph as it is in memory, on request with each edge in both directions.
inline Csr graph_of(const NamedGraph& named, bool symmetric) {
  EdgeList list{named.vertices, {}, {}};
  for (const Edge& edge : named.edges) {
    list.source.push_back(edge.source);
    list.destination.push_back(edge.destination);
  }
  const Csr graph = build_csr(list);
  return symmetric ? symmetrise(graph) : graph;
}
inline Csr symmetric_csr(const NamedGraph& named) { return graph_of(named, true); }

}  // namespace orrery
