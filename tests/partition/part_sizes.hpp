// How many vertices the parts of a partition have.
#pragma once

#include <cstdint>
#include <vector>

#include "core/partition/partition.hpp"

namespace orrery {

inline std::vector<std::int64_t> sizes_of(const Partition& partition) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(partition.parts));
  for (const auto p : partition.owner) ++sizes[static_cast<std::size_t>(p)];
  return sizes;
}

}  // namespace orrery
