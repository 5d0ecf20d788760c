// Edges one by one, and the merging of edges that several threads found.
#pragma once

#include <vector>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

struct Edge {
  Vertex source, destination;
};

/// The edges of all chunks in order, with number(id) as the vertex of each id. Parallel; frees each
/// chunk once it is copied.
template <class E, class Number>
EdgeList join_chunks(std::int64_t vertices, std::vector<std::vector<E>>&& chunks,
                     const Number& number) {
  std::vector<std::size_t> start{0};
  for (const auto& chunk : chunks) start.push_back(start.back() + chunk.size());
  EdgeList edges{vertices, std::vector<Vertex>(start.back()), std::vector<Vertex>(start.back())};
  parallel_for(static_cast<std::int64_t>(chunks.size()), 1, [&](std::int64_t k, std::int64_t) {
    auto& chunk = chunks[at(k)];
    std::size_t i = start[at(k)];
    for (const E& edge : chunk) {
      edges.source[i] = number(edge.source);
      edges.destination[i++] = number(edge.destination);
    }
    std::vector<E>().swap(chunk);
  });
  return edges;
}
EdgeList join_chunks(std::int64_t vertices, std::vector<std::vector<Edge>>&& chunks);

}  // namespace orrery
