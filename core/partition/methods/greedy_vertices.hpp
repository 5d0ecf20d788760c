// Shared by LDG and Fennel: each vertex goes to the part with the highest score of neighbours there
// and size.
#pragma once

#include "core/base/index.hpp"
#include "core/partition/methods/streaming.hpp"

namespace orrery {

/// Places the vertices in the order of the stream; score(neighbours in the part, its vertices).
/// Only parts with fewer than `most` vertices are open. Ties go to the smallest part, then to the
/// first.
template <class Score>
StreamCut place_vertices(VertexStream& vertices, int parts, double most, const Score& score) {
  StreamCut cut;
  cut.partition = {parts,
                   std::vector<std::int32_t>(static_cast<std::size_t>(vertices.vertices()), -1)};
  auto& owner = cut.partition.owner;
  std::vector<std::int64_t> neighbours(static_cast<std::size_t>(parts)), size(neighbours.size());
  for (VertexStream::Item item; vertices.next(item);) {
    std::fill(neighbours.begin(), neighbours.end(), 0);
    for (const Vertex u : item.neighbours)
      if (const auto p = owner[at(u)]; p >= 0) ++neighbours[at(p)];
    std::size_t best = neighbours.size();
    double highest = 0;
    for (std::size_t p = 0; p < neighbours.size(); ++p) {
      if (static_cast<double>(size[p]) >= most) continue;
      const double s = score(static_cast<double>(neighbours[p]), static_cast<double>(size[p]));
      if (best < neighbours.size() && (s < highest || (s == highest && size[p] >= size[best])))
        continue;
      best = p;
      highest = s;
    }
    owner[at(item.vertex)] = static_cast<std::int32_t>(best);
    ++size[best];
  }
  return cut;
}

}  // namespace orrery
