#include "core/partition/neighbourhood.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr Vertex kAbsent = -1;

/// Numbers vertices in the order in which they are added.
struct Numbering {
  std::vector<Vertex> vertices, local;  ///< local: of each vertex of the graph

  explicit Numbering(std::int64_t all) : local(at(all), kAbsent) {}

  /// Adds those that are new, in ascending order.
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
  std::int64_t inner = 0;  // the vertices whose edges are all held
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

}  // namespace orrery
