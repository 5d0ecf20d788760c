#include "core/inference/tile_layout.hpp"

#include <algorithm>

namespace orrery {

Share share_of(std::int64_t total, int parts, int k) {
  const std::int64_t each = total / parts, larger = total % parts;
  return {k * each + std::min<std::int64_t>(k, larger), each + (k < larger ? 1 : 0)};
}

int TileLayout::part_of_vertex(std::int64_t vertex) const {
  const std::int64_t each = vertices / row_parts, larger = vertices % row_parts;
  const std::int64_t in_larger = larger * (each + 1);
  if (vertex < in_larger) return static_cast<int>(vertex / (each + 1));
  return static_cast<int>(larger + (vertex - in_larger) / each);
}

}  // namespace orrery
