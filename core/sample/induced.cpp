#include "core/sample/induced.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr Vertex kAbsent = -1;     // not in the subgraph
constexpr Vertex kUnreached = -2;  // in it, but not held yet

}  // namespace

Neighbourhood induced_neighbourhood(const Csr& graph, std::span<const Vertex> own,
                                    std::span<const Vertex> external) {
  Neighbourhood result;
  std::vector<Vertex> local(at(graph.rows), kAbsent);
  for (const Vertex v : external) local[at(v)] = kUnreached;
  const auto hold = [&](std::span<const Vertex> vertices) {
    for (const Vertex v : vertices) {
      local[at(v)] = static_cast<Vertex>(result.vertices.size());
      result.vertices.push_back(v);
    }
    result.within.push_back(static_cast<std::int64_t>(result.vertices.size()));
  };

  hold(own);
  for (std::int64_t next = 0;;) {
    std::vector<Vertex> reached;
    for (; next < result.within.back(); ++next)
      for (const Vertex u : graph.row(result.vertices[at(next)]))
        if (local[at(u)] == kUnreached) {
          local[at(u)] = kAbsent;  // listed once
          reached.push_back(u);
        }
    if (reached.empty()) break;
    std::sort(reached.begin(), reached.end());
    hold(reached);
  }

  Csr& held = result.graph;
  held.rows = held.cols = result.within.back();
  for (const Vertex v : result.vertices) {
    for (const Vertex u : graph.row(v))
      if (local[at(u)] >= 0) held.columns.push_back(local[at(u)]);
    std::sort(held.columns.begin() + held.offsets.back(), held.columns.end());
    held.offsets.push_back(held.nnz());
  }
  return result;
}

}  // namespace orrery
