// The tiles of A that a rank multiplies.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runtime/program.hpp"

namespace orrery {

struct Tile {
  std::int64_t rows = 0, columns = 0;
  std::int64_t nonzeros = 0;  ///< stored entries
};

/// The sparse matrices that products of a recorded epoch read, each once, in the order in which
/// they were loaded: tiles of A, and of Aᵀ where that is stored, too.
std::vector<Tile> tiles_of_epoch(const Program& program);

}  // namespace orrery
