#include "core/sample/row_picks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Up to this number of values, looking at each is faster than a table or sorting.
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
  const std::size_t room = std::size_t{length} + Variates::kSlack;
  if (candidates_.size() < room) candidates_.resize(room);
  std::uint64_t* const found = candidates_.data();
  std::uint32_t many = variates.below(likely_bound(length, count), columns, length, found);
  if (many < count)
    many = variates.below(std::numeric_limits<std::uint32_t>::max(), columns, length, found);
  const std::size_t before = positions.size();
  positions.resize(before + count);
  if (many > kFew) {
    std::nth_element(found, found + (count - 1), found + many);
    std::sort(found, found + count);
    for (std::uint32_t i = 0; i < count; ++i)
      positions[before + i] = begin + static_cast<EdgeIndex>(found[i] & 0xFFFFFFFFU);
    return;
  }
  std::array<std::uint64_t, kFew + Variates::kSlack> places;
  Variates::places_of(found, many, places.data());
  std::array<EdgeIndex, kFew> in_order;
  for (std::uint32_t i = 0; i < many; ++i)
    in_order[places[i]] = begin + static_cast<EdgeIndex>(found[i] & 0xFFFFFFFFU);
  std::copy_n(in_order.begin(), count, positions.begin() + static_cast<std::ptrdiff_t>(before));
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
