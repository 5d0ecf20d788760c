#include "core/partition/neighbourhood.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/index.hpp"
#include "core/partition/cross_edges.hpp"

namespace orrery {
namespace {

constexpr Vertex kAbsent = -1;

/// Numbers vertices in the order in which they are added.
struct Numbering {
  std::vector<Vertex> vertices, local;  ///< local: local number of each vertex of the graph

  explicit Numbering(std::int64_t all) : local(at(all), kAbsent) {}

  /// Adds the new ones among them, in ascending order.
  void add(std::vector<Vertex> candidates) {
    std::sort(candidates.begin(), candidates.end());
    for (const Vertex v : candidates) {
      if (local[at(v)] != kAbsent) continue;
      local[at(v)] = static_cast<Vertex>(vertices.size());
      vertices.push_back(v);
    }
  }
};

}  // namespace

Neighbourhood neighbourhood(const Csr& graph, const Csr& reverse, std::span<const Vertex> own,
                            int hops) {
  Numbering numbering(graph.rows);
  numbering.add({own.begin(), own.end()});
  Neighbourhood result;
  result.within.push_back(static_cast<std::int64_t>(own.size()));
  std::int64_t inner = 0;  // the vertices all of whose edges are held
  for (int d = 1; d <= hops; ++d) {
    std::vector<Vertex> reached;
    for (std::int64_t i = inner; i < result.within.back(); ++i)
      for (const Csr* edges : {&graph, &reverse}) {
        const auto row = edges->row(numbering.vertices[at(i)]);
        for (const Vertex u : row)
          if (numbering.local[at(u)] == kAbsent) reached.push_back(u);
      }
    inner = result.within.back();
    numbering.add(std::move(reached));
    result.within.push_back(static_cast<std::int64_t>(numbering.vertices.size()));
  }
  const std::int64_t complete = hops == 0 ? result.within.back() : inner;

  Csr& held = result.graph;
  held.rows = held.cols = result.within.back();
  for (std::int64_t i = 0; i < held.rows; ++i) {
    for (const Vertex u : graph.row(numbering.vertices[at(i)])) {
      const Vertex j = numbering.local[at(u)];
      if (j != kAbsent && (i < complete || j < complete)) held.columns.push_back(j);
    }
    std::sort(held.columns.begin() + held.offsets.back(), held.columns.end());
    held.offsets.push_back(held.nnz());
  }
  result.vertices = std::move(numbering.vertices);
  return result;
}

Neighbourhood neighbourhood_of_edges(std::span<const Vertex> own, const std::vector<Edge>& edges) {
  std::vector<Vertex> all(own.begin(), own.end());
  for (const auto& [u, v] : edges) all.insert(all.end(), {u, v});
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto place = [&](Vertex v) {
    return static_cast<Vertex>(std::lower_bound(all.begin(), all.end(), v) - all.begin());
  };
  const auto csr_of = [&](const auto& number) {
    EdgeList list{std::ssize(all), {}, {}};
    for (const auto& [u, v] : edges) {
      list.source.push_back(number(u));
      list.destination.push_back(number(v));
    }
    return build_csr(list);
  };

  const Csr around = symmetrise(csr_of(place));
  std::vector<Vertex> local(all.size(), kAbsent), order;  // by place; places in local numbers
  const auto append = [&](std::vector<Vertex> places) {
    std::sort(places.begin(), places.end());
    for (const Vertex p : places) {
      if (local[at(p)] != kAbsent) continue;
      local[at(p)] = static_cast<Vertex>(order.size());
      order.push_back(p);
    }
  };
  std::vector<Vertex> next;
  for (const Vertex v : own) next.push_back(place(v));
  Neighbourhood result;
  for (std::size_t first = 0; !next.empty() || result.within.empty();) {
    append(std::exchange(next, {}));
    result.within.push_back(std::ssize(order));
    for (; first < order.size(); ++first)
      for (const Vertex u : around.row(order[first]))
        if (local[at(u)] == kAbsent) next.push_back(u);
  }
  std::vector<Vertex> rest(all.size());
  std::iota(rest.begin(), rest.end(), 0);
  append(std::move(rest));

  result.graph = csr_of([&](Vertex v) { return local[at(place(v))]; });
  for (const Vertex p : order) result.vertices.push_back(all[at(p)]);
  return result;
}

std::vector<Edge> one_sided_edges(const Csr& graph, const Csr& reverse, std::span<const Vertex> own,
                                  std::span<const std::int32_t> owner, std::uint64_t seed) {
  std::vector<Edge> edges;
  for (const Vertex v : own) {
    const auto inside = [&](Vertex u) { return owner[at(u)] == owner[at(v)]; };
    for (const Vertex u : graph.row(v))
      if (inside(u) || drawn_end(seed, u, v) == v) edges.push_back({u, v});
    for (const Vertex u : reverse.row(v))
      if (!inside(u) && drawn_end(seed, u, v) == v) edges.push_back({v, u});
  }
  return edges;
}

}  // namespace orrery
