#include "backends/cuda/device/arena.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::cuda {

Arena::Arena(std::int64_t capacity) : capacity_(capacity / kAlignment * kAlignment) {
  if (capacity_ > 0) add_hole(0, capacity_);
}

std::optional<std::int64_t> Arena::take(std::int64_t bytes) {
  const std::int64_t wanted =
      std::max<std::int64_t>(1, (bytes + kAlignment - 1) / kAlignment) * kAlignment;
  const auto hole = by_size_.lower_bound({wanted, 0});
  if (hole == by_size_.end()) return {};
  const auto [size, first] = *hole;
  remove_hole(first, size);
  if (size > wanted) add_hole(first + wanted, size - wanted);
  taken_[first] = wanted;
  in_use_ += wanted;
  peak_ = std::max(peak_, in_use_);
  return first;
}

bool Arena::give_back(std::int64_t first) {
  const auto range = taken_.find(first);
  if (range == taken_.end()) return false;
  std::int64_t begin = first, bytes = range->second;
  in_use_ -= bytes;
  taken_.erase(range);
  const auto after = holes_.lower_bound(begin);
  if (after != holes_.end() && after->first == begin + bytes) {
    const std::int64_t more = after->second;
    remove_hole(after->first, more);
    bytes += more;
  }
  const auto next = holes_.lower_bound(begin);
  if (next != holes_.begin()) {
    const auto [before, length] = *std::prev(next);
    if (before + length == begin) {
      remove_hole(before, length);
      begin = before;
      bytes += length;
    }
  }
  add_hole(begin, bytes);
  return true;
}

void Arena::add_hole(std::int64_t first, std::int64_t bytes) {
  holes_[first] = bytes;
  by_size_.insert({bytes, first});
}

void Arena::remove_hole(std::int64_t first, std::int64_t bytes) {
  holes_.erase(first);
  by_size_.erase({bytes, first});
}

}  // namespace orrery::cuda
