#include "core/sample/row_picks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Up to this number of values, looking at each is faster than a table.
constexpr std::uint32_t kFew = 64;

/// A bound below which `count` of `length` variates, or a few more, are expected.
std::uint32_t likely_bound(std::uint32_t length, std::uint32_t count) {
  const double expected = count + 2.5 * std::sqrt(static_cast<double>(count)) + 1;
  if (expected >= length) return std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(expected / length * 0x1.0p32);
}

}  // namespace

void RowPicks::all(EdgeIndex begin, std::uint32_t length, Positions& positions) {
  const std::size_t before = positions.size();
  positions.resize(before + length);
  for (std::uint32_t i = 0; i < length; ++i) positions[before + i] = begin + i;
}

void RowPicks::distinct(RowDraws draws, EdgeIndex begin, std::uint32_t length, std::uint32_t count,
                        Positions& positions) {
  begin_set(count);
  for (std::uint32_t j = length - count; j < length; ++j) {
    std::uint32_t pick = draws.below(j + 1);
    if (!insert(pick)) {
      pick = j;
      insert(j);
    }
    positions.push_back(begin + pick);
  }
}

void RowPicks::repeated(RowDraws draws, EdgeIndex begin, std::uint32_t length, std::uint32_t count,
                        Positions& positions) {
  for (std::uint32_t i = 0; i < count; ++i) positions.push_back(begin + draws.below(length));
}

void RowPicks::lowest(const Variates& variates, const Vertex* columns, EdgeIndex begin,
                      std::uint32_t length, std::uint32_t count, Positions& positions) {
  if (below(likely_bound(length, count), variates, columns, length) < count)
    below(std::numeric_limits<std::uint32_t>::max(), variates, columns, length);
  std::nth_element(candidates_.begin(), candidates_.begin() + (count - 1), candidates_.end());
  std::sort(candidates_.begin(), candidates_.begin() + count);
  for (std::uint32_t i = 0; i < count; ++i)
    positions.push_back(begin + static_cast<EdgeIndex>(candidates_[i] & 0xFFFFFFFFU));
}

std::size_t RowPicks::below(std::uint32_t bound, const Variates& variates, const Vertex* columns,
                            std::uint32_t length) {
  std::array<std::uint32_t, Variates::kAtOnce> values;
  std::size_t found = 0;
  for (std::uint32_t first = 0; first < length; first += Variates::kAtOnce) {
    const std::uint32_t n = std::min(Variates::kAtOnce, length - first);
    if (variates.of(columns + first, n, values.data()) > bound) continue;
    candidates_.resize(found + n);
    for (std::uint32_t i = 0; i < n; ++i) {  // without branches
      candidates_[found] = std::uint64_t{values[i]} << 32U | (first + i);
      found += values[i] <= bound ? 1 : 0;
    }
  }
  candidates_.resize(found);
  return found;
}

void RowPicks::begin_set(std::uint32_t most) {
  is_few_ = most <= kFew;
  few_.clear();
  if (is_few_) return;
  const auto slots = std::bit_ceil(std::size_t{2} * most);
  if (++row_ >= std::numeric_limits<std::uint32_t>::max() || many_.size() < slots) {
    many_.assign(std::max(slots, many_.size()), 0);
    row_ = 1;
  }
}

bool RowPicks::insert(std::uint32_t value) {
  if (is_few_) {
    for (const std::uint32_t there : few_)
      if (there == value) return false;
    few_.push_back(value);
    return true;
  }
  const std::uint64_t entry = row_ << 32U | value;
  const std::size_t mask = many_.size() - 1;
  for (std::size_t i = (value * 0x9E3779B9U) & mask;; i = (i + 1) & mask) {
    if (many_[i] == entry) return false;
    if (many_[i] >> 32U == row_) continue;
    many_[i] = entry;
    return true;
  }
}

}  // namespace orrery
