// How the rows of a sparse pattern are shared among threads.
//
// A range of rows ends when its work, one unit per edge and one per row, reaches a fixed amount, so
// that a skewed graph is balanced like a regular one. A row longer than two ranges would still
// delay its thread. Such rows are left out, and done one after the other, each in pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery::cpu {

/// Edges per range for an op that reads `width` floats for each: 8 MiB of rows, so that the start
/// of a range, without prefetching, is rare.
inline std::int64_t work_per_range(std::int64_t width) {
  return std::max<std::int64_t>(1024, (std::int64_t{1} << 21) / width);
}

/// The first row at which rows and edges before it reach `work`.
inline std::int64_t row_at(const Csr& a, std::int64_t work) {
  std::int64_t low = 0, high = a.rows;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (a.offsets[at(middle)] + middle < work)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Calls rows(first, last) for ranges of rows, with about `block` units of work each, from several
/// threads. Then calls long_row(row), one after the other, for each row that is longer than two
/// ranges.
template <class RowRange, class LongRow>
void for_ranges_of_rows(const Csr& a, std::int64_t block, const RowRange& rows,
                        const LongRow& long_row) {
  constexpr std::int64_t kNone = -1;
  const std::int64_t work = a.rows + a.nnz();
  // Only the last row that begins in a range can reach beyond the next one.
  std::vector<std::int64_t> long_rows(static_cast<std::size_t>((work + block - 1) / block), kNone);
  parallel_for(work, block, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = row_at(a, begin), last = row_at(a, end);
    const bool holds_long = first < last && a.degree(last - 1) > 2 * block;
    if (holds_long) long_rows[at(begin / block)] = last - 1;
    rows(first, holds_long ? last - 1 : last);
  });
  for (const std::int64_t row : long_rows)
    if (row != kNone) long_row(row);
}

}  // namespace orrery::cpu
