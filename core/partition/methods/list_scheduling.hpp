// Sorted list scheduling: the largest item first, each to the least loaded part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/base/index.hpp"

namespace orrery {

/// Loads of parts, with fast access to the least loaded one (of equal ones the first).
class LeastLoaded {
 public:
  explicit LeastLoaded(int parts) {
    for (std::int32_t p = 0; p < parts; ++p) heap_.emplace(0, p);
  }
  /// Adds `load` to the least loaded part and returns its number.
  std::int32_t take(std::int64_t load) {
    auto [sum, part] = heap_.top();
    heap_.pop();
    heap_.emplace(sum + load, part);
    return part;
  }

 private:
  using Entry = std::pair<std::int64_t, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

/// A part for every item: in descending order of size (equal ones by number) to the least loaded
/// part.
///
/// Cost      O(items log items); 8 bytes per item
/// Source    Graham 1969: the fullest part has at most 4/3 − 1/(3·parts) times the least possible
template <class Size>
std::vector<std::int32_t> schedule(std::span<const Size> sizes, LeastLoaded& parts) {
  std::vector<std::int32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const auto &x = sizes[at(a)], &y = sizes[at(b)];
    return x != y ? x > y : a < b;
  });
  std::vector<std::int32_t> part(sizes.size());
  for (const std::int32_t item : order)
    part[at(item)] = parts.take(static_cast<std::int64_t>(sizes[at(item)]));
  return part;
}

}  // namespace orrery
