// Entries of a graph that a sample leaves out, such as the links that a step learns.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

/// Each entry is left out in one copy of the graph. Looking up a row takes the same time however many
/// they are, because the range of keys is cut into about as many equal buckets.
///
/// Memory    12 bytes for each entry that is left out
class ExcludedEntries {
 public:
  ExcludedEntries() = default;
  /// `keys`: position · copies + copy, in any order. `entries`: number of the graph's entries.
  ExcludedEntries(std::vector<EdgeIndex> keys, EdgeIndex entries, int copies = 1)
      : keys_(std::move(keys)), copies_(copies) {
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    if (keys_.empty()) return;
    const auto range = static_cast<std::uint64_t>(entries) * static_cast<std::uint64_t>(copies);
    ORRERY_ASSERT(keys_.front() >= 0 && static_cast<std::uint64_t>(keys_.back()) < range);
    shift_ = static_cast<int>(std::bit_width(range / keys_.size()));
    starts_.resize((range >> shift_) + 2);
    for (const EdgeIndex key : keys_) ++starts_[bucket(key) + 1];
    for (std::size_t b = 1; b < starts_.size(); ++b) starts_[b] += starts_[b - 1];
  }

  bool empty() const { return keys_.empty(); }
  int copies() const { return copies_; }
  /// Appends the positions in [begin, end) of those in a copy, in ascending order.
  void within(EdgeIndex begin, EdgeIndex end, Vertex copy,
              std::vector<EdgeIndex>& positions) const {
    if (empty() || begin == end) return;
    const EdgeIndex first = begin * copies_, last = end * copies_;
    for (std::size_t i = starts_[bucket(first)]; i < keys_.size() && keys_[i] < last; ++i)
      if (keys_[i] >= first && keys_[i] % copies_ == copy) positions.push_back(keys_[i] / copies_);
  }

 private:
  std::size_t bucket(EdgeIndex key) const {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(key) >> shift_);
  }
  std::vector<EdgeIndex> keys_;  ///< ascending
  int copies_ = 1;
  int shift_ = 0;
  std::vector<std::uint32_t> starts_;  ///< of each bucket among the keys, and the end
};

}  // namespace orrery
