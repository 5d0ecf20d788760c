#include "backends/cuda/device/prepare.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace orrery::cuda {
namespace {

constexpr std::size_t kClasses = std::bit_width(static_cast<std::uint64_t>(kPieceEntries)) + 1;

/// 0 for the longest class, the last for empty rows.
std::size_t class_of(std::int64_t length) {
  return kClasses - 1 -
         static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length)));
}

}  // namespace

Preparation prepare(std::int64_t rows, const std::int64_t* offsets) {
  Preparation result;
  std::array<std::size_t, kClasses + 1> first{};  // of each class in result.rows
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t begin = offsets[i], end = offsets[i + 1];
    result.longest = std::max(result.longest, end - begin);
    if (end - begin <= kPieceEntries) {
      ++first[class_of(end - begin) + 1];
      continue;
    }
    const auto first_piece = static_cast<std::int32_t>(result.pieces.size());
    for (std::int64_t e = begin; e < end; e += kPieceEntries)
      result.pieces.push_back({e, std::min(e + kPieceEntries, end)});
    const auto count = static_cast<std::int32_t>(result.pieces.size()) - first_piece;
    result.long_rows.push_back({static_cast<std::int32_t>(i), first_piece, count});
  }
  for (std::size_t c = 0; c < kClasses; ++c) first[c + 1] += first[c];
  result.rows.resize(first[kClasses]);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t length = offsets[i + 1] - offsets[i];
    if (length <= kPieceEntries)
      result.rows[first[class_of(length)]++] = static_cast<std::int32_t>(i);
  }
  return result;
}

}  // namespace orrery::cuda
