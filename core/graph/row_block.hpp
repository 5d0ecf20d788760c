// How rows of a graph are dealt to threads.
#pragma once

#include <cstdint>

namespace orrery {

/// Rows of one block of a parallel loop over all rows.
inline constexpr std::int64_t kRowBlock = 1 << 12;

}  // namespace orrery
