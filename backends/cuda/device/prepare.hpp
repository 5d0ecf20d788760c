// How the rows of a sparse pattern are distributed to the threads of our own product: only numbers,
// no device memory.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::cuda {

/// Longer rows are cut into pieces with this many entries, so that a hub is the work of many warps.
/// The pieces' sums are combined in order.
constexpr std::int64_t kPieceEntries = 512;

/// The work of one product.
struct Preparation {
  struct Piece {
    std::int64_t begin, end;  ///< entries
  };
  struct LongRow {
    std::int32_t row, first_piece, pieces;
  };
  std::vector<Piece> pieces;
  std::vector<LongRow> long_rows;
  /// All other rows, by classes of lengths within a factor of two, longest class first, so that
  /// threads of one block end together; within a class in their order, for the caches.
  std::vector<std::int32_t> rows;
  std::int64_t longest = 0;
};

/// Shapes    offsets [rows + 1]
/// Requires  rows < 2^31
Preparation prepare(std::int64_t rows, const std::int64_t* offsets);

}  // namespace orrery::cuda
