// Which parts of one reservation are in use: only numbers, no memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace orrery::cuda {

/// Best fit with coalescing: the smallest hole that is large enough, neighbouring holes become one.
///
/// Units     bytes; every range begins at a multiple of 256 and is rounded up to one
class Arena {
 public:
  static constexpr std::int64_t kAlignment = 256;

  explicit Arena(std::int64_t capacity);
  /// First byte of a range with this many bytes (0 takes the minimum); nothing if no hole is large
  /// enough.
  std::optional<std::int64_t> take(std::int64_t bytes);
  /// Frees the range that begins there; false if none does.
  bool give_back(std::int64_t first);

  std::int64_t capacity() const { return capacity_; }
  std::int64_t in_use() const { return in_use_; }
  std::int64_t peak() const { return peak_; }
  std::int64_t largest_hole() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void add_hole(std::int64_t first, std::int64_t bytes);
  void remove_hole(std::int64_t first, std::int64_t bytes);

  std::int64_t capacity_, in_use_ = 0, peak_ = 0;
  std::map<std::int64_t, std::int64_t> holes_, taken_;       // bytes, by first byte
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // the holes as (bytes, first byte)
};

}  // namespace orrery::cuda
