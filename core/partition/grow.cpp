#include "core/partition/grow.hpp"

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

Partition grow(const Partition& cut, std::span<const Vertex> vertices, const Csr& graph) {
  ORRERY_ASSERT(cut.owner.size() == vertices.size());
  constexpr std::int32_t kNobody = -1;
  Partition grown{cut.parts, std::vector<std::int32_t>(at(graph.rows), kNobody)};
  std::vector<std::int64_t> size(at(cut.parts), 0), neighbours(at(cut.parts), 0);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    grown.owner[at(vertices[i])] = cut.owner[i];
    ++size[at(cut.owner[i])];
  }
  const std::int64_t room = (graph.rows + cut.parts - 1) / cut.parts;
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    if (grown.owner[at(v)] != kNobody) continue;
    const auto count = [&](std::int64_t one) {
      for (const Vertex u : graph.row(v))
        if (grown.owner[at(u)] != kNobody) neighbours[at(grown.owner[at(u)])] += one;
    };
    count(1);
    std::int32_t best = kNobody;
    for (std::int32_t part = 0; part < cut.parts; ++part) {
      if (size[at(part)] >= room) continue;
      if (best == kNobody || neighbours[at(part)] > neighbours[at(best)] ||
          (neighbours[at(part)] == neighbours[at(best)] && size[at(part)] < size[at(best)]))
        best = part;
    }
    count(-1);
    ORRERY_ASSERT(best != kNobody);  // room for all, because ⌈n / parts⌉·parts >= n
    grown.owner[at(v)] = best;
    ++size[at(best)];
  }
  return grown;
}

}  // namespace orrery
