// Sizes that a file only states, held against the bytes that are there.
#pragma once

#include <cstdint>

namespace orrery {

/// The largest number of vertices (or classes) that is believed of a data set with so many bytes of
/// edges: a million, and a hundred for each byte, which is far below a thousandth of an edge per
/// vertex. Memory is taken for every one of them, so that a flipped bit must not ask for all there
/// is.
constexpr std::int64_t most_plausible(std::int64_t bytes) { return (1 << 20) + 100 * bytes; }

}  // namespace orrery
