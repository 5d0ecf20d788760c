// Checks of sizes that a file states against the bytes that exist.
#pragma once

#include <cstdint>

namespace orrery {

/// The largest number of vertices (or classes) that a data set with this many bytes of edges may
/// claim: a million, and a hundred for each byte, which is far below a thousandth of an edge per
/// vertex. Memory is allocated for each of them, so a flipped bit must not ask for all memory.
constexpr std::int64_t most_plausible(std::int64_t bytes) { return (1 << 20) + 100 * bytes; }

}  // namespace orrery
