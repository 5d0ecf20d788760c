#include "core/inference/layout/tile_layout.hpp"

#include <algorithm>

namespace orrery {

Share share_of(std::int64_t total, int parts, int k) {
  const std::int64_t each = total / parts, larger = total % parts;
  return {k * each + std::min<std::int64_t>(k, larger), each + (k < larger ? 1 : 0)};
}

int TileLayout::part_of_vertex(std::int64_t vertex) const {
  // Divisions of 32 bits take half the time of those of 64, and there are fewer vertices than that.
  const auto v = static_cast<std::uint32_t>(vertex), n = static_cast<std::uint32_t>(vertices),
             parts = static_cast<std::uint32_t>(row_parts);
  const std::uint32_t each = n / parts, larger = n - each * parts, in_larger = larger * (each + 1);
  if (v < in_larger) return static_cast<int>(v / (each + 1));
  return static_cast<int>(larger + (v - in_larger) / each);
}

}  // namespace orrery
