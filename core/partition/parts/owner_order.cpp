#include "core/partition/parts/owner_order.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/index.hpp"

namespace orrery {

OwnerOrder::OwnerOrder(const Partition& partition)
    : begin(static_cast<std::size_t>(partition.parts) + 1),
      position(partition.owner.size()),
      vertex(partition.owner.size()) {
  const auto& owner = partition.owner;
  for (const auto p : owner) ++begin[at(p) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Vertex> next(begin.begin(), begin.end() - 1);
  for (std::size_t v = 0; v < owner.size(); ++v) {
    const Vertex place = next[at(owner[v])]++;
    position[v] = place;
    vertex[at(place)] = static_cast<Vertex>(v);
  }
}

std::int32_t OwnerOrder::owner(Vertex v) const {
  const auto behind = std::upper_bound(begin.begin(), begin.end(), position[at(v)]);
  return static_cast<std::int32_t>(behind - begin.begin()) - 1;  // parts before it may be empty
}

}  // namespace orrery
