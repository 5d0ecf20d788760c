// Rows times feature columns: which rank of an inference holds which tile of a matrix with a row
// for every vertex.
//
// Vertices are cut into P parts of consecutive numbers, and the columns of a matrix into M shares.
// Rank p·M + m holds the rows of part p, columns m, and all rows of A of its part. If P does not
// divide the vertices, or M the columns, the first ones get one more.
//
// Source    Deal section 3.3, Figure 6
#pragma once

#include <cstdint>

#include "core/ops/tensor.hpp"

namespace orrery {

/// Consecutive rows or columns.
struct Share {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  bool contains(std::int64_t i) const { return i >= first && i < end(); }
  bool operator==(const Share&) const = default;
};

/// Share k of `total` things among `parts`, as equal as possible: the first shares are larger.
Share share_of(std::int64_t total, int parts, int k);

struct TileLayout {
  std::int64_t vertices = 0;
  int row_parts = 1;     ///< P
  int column_parts = 1;  ///< M

  int ranks() const { return row_parts * column_parts; }
  int part_of(int rank) const { return rank / column_parts; }
  int column_of(int rank) const { return rank % column_parts; }
  int rank_of(int part, int column) const { return part * column_parts + column; }

  /// The vertices of a part.
  Share rows(int part) const { return share_of(vertices, row_parts, part); }
  /// The columns of share m of a matrix of this width; none if there are fewer columns than shares.
  Share columns(std::int64_t width, int m) const { return share_of(width, column_parts, m); }
  /// The rows of a part, counted from its first, that rank m of the part has whole while columns
  /// are turned into rows.
  Share whole_rows(int part, int m) const { return share_of(rows(part).count, column_parts, m); }
  int part_of_vertex(std::int64_t vertex) const;

  /// The M ranks that hold the rows of this rank's part.
  Group row_group(int rank) const { return {1, part_of(rank) * column_parts, column_parts, 1}; }
  /// The P ranks that hold this rank's columns.
  Group column_group(int rank) const { return {2, column_of(rank), row_parts, column_parts}; }
};

}  // namespace orrery
