// The next event.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/index.hpp"

namespace orrery::sim {

/// Numbered things with a time each, the earliest first; equal times by their order. A heap of four
/// branches (16 bytes an entry: the four lie in one line of a cache) that knows where each number
/// is, so that a time can change.
class Agenda {
 public:
  bool empty() const { return heap_.empty(); }
  double time() const { return std::bit_cast<double>(heap_.front().time); }
  /// Requires that it is not empty.
  int take_first();

  /// Enters a number, or moves it.
  ///
  /// Requires  0 <= number < 2^26, time >= 0, order < 2^38
  void set(int number, double time, std::uint64_t order);
  /// Requires that the number is in it.
  void remove(int number);

 private:
  static constexpr int kNumberBits = 26;
  struct Entry {
    std::uint64_t time;  ///< the bits of a double that is not negative: they have its order
    std::uint64_t key;   ///< its order, then its number
    std::size_t number() const { return key & ((std::uint64_t{1} << kNumberBits) - 1); }
    /// Without a branch, which nobody could foretell.
    bool before(const Entry& other) const {
      return static_cast<int>(time < other.time) |
             (static_cast<int>(time == other.time) & static_cast<int>(key < other.key));
    }
  };
  static constexpr int kAbsent = -1;
  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[entry.number()] = static_cast<int>(place);
  }
  std::size_t first_of(std::size_t begin, std::size_t size) const;
  void rise(std::size_t place, const Entry& entry);
  void sink(std::size_t place, const Entry& entry);

  std::vector<Entry> heap_;
  std::vector<int> places_;  ///< in the heap, of each number
};

}  // namespace orrery::sim
