#include "core/partition/part_order.hpp"

#include <numeric>

namespace orrery {

PartOrder::PartOrder(const Partition& partition)
    : owner(partition.owner),
      begin(static_cast<std::size_t>(partition.parts) + 1),
      position(owner.size()),
      vertex(owner.size()) {
  for (const auto p : owner) ++begin[static_cast<std::size_t>(p) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Vertex> next(begin.begin(), begin.end() - 1);
  for (std::size_t v = 0; v < owner.size(); ++v) {
    const Vertex place = next[static_cast<std::size_t>(owner[v])]++;
    position[v] = place;
    vertex[static_cast<std::size_t>(place)] = static_cast<Vertex>(v);
  }
}

}  // namespace orrery
