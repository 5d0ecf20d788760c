// Rows of stores travel over MPI in pieces.
#pragma once

#include <algorithm>
#include <cstdint>

namespace orrery {

/// Bytes of the rows in one message. Other messages to the same rank, such as sums of gradients, wait
/// behind the pieces that are under way; through fast links the work for each message counts more.
/// Measured from 100 Mbit/s to 20 Gbit/s (docs/benchmarks.md).
inline constexpr std::int64_t kRowPieceBytes = std::int64_t{256} << 10;

/// Pieces that a rank asks for at a time, of all owners together. Owner and asker look after messages when
/// a core is free, which may take as long as a few pieces; meanwhile the link should not run out of others.
/// 16 were measured with one owner (docs/benchmarks.md). With many owners there are two for each, to bound
/// memory.
constexpr std::int64_t row_pieces_under_way(std::int64_t owners) {
  return std::max<std::int64_t>(16, 2 * owners + 2);
}

}  // namespace orrery
