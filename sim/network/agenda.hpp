// The next event.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/index.hpp"

namespace orrery::sim {

/// Numbered things with a time each, the earliest first; equal times by their order.
///
/// A calendar: time is cut into slots of equal width, with a few entries each, which are sorted when
/// their slot comes. What lies beyond the last slot waits, in no order, until a new calendar
/// is made. An entry that was moved or removed stays where it is, and counts for nothing when it
/// comes up. So the effort for an event does not grow with their number.
///
/// Source    R. Brown, Calendar queues, Communications of the ACM 31 (1988)
/// Departs   the present slot is sorted whole, and what comes into it later goes into a small heap
class Agenda {
 public:
  bool empty() const { return count_ == 0; }
  /// Requires that it is not empty.
  double time() const { return std::bit_cast<double>(first_.time); }
  /// Requires that it is not empty.
  int take_first();

  /// Enters a number, or moves it. No two have the same order.
  ///
  /// Requires  0 <= number < 2^26, time >= 0, order < 2^38
  void set(int number, double time, std::uint64_t order);
  /// Requires that the number is in it.
  void remove(int number);

 private:
  static constexpr int kNumberBits = 26;
  static constexpr std::size_t kSlots = 1024;
  struct Entry {
    std::uint64_t time;  ///< the bits of a double that is not negative: they have its order
    std::uint64_t key;   ///< its order, then its number
    std::size_t number() const { return key & ((std::uint64_t{1} << kNumberBits) - 1); }
    bool operator==(const Entry&) const = default;
    /// Without a branch, which nobody could foretell.
    bool before(const Entry& other) const {
      return static_cast<int>(time < other.time) |
             (static_cast<int>(time == other.time) & static_cast<int>(key < other.key));
    }
  };
  static constexpr Entry kAbsent{~std::uint64_t{0}, ~std::uint64_t{0}};
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return b.before(a); }
  };
  bool counts(const Entry& entry) const { return present_[entry.number()] == entry; }
  void put(const Entry& entry);
  void find_first();
  bool turn();
  void renew();
  void spread();

  Entry first_ = kAbsent;
  std::size_t count_ = 0;   ///< numbers in it
  std::size_t stored_ = 0;  ///< entries, also those that count for nothing
  std::size_t late_puts_ = 0;
  std::vector<Entry> present_;  ///< of each number
  std::vector<Entry> now_;      ///< of the present slot, the earliest last
  std::vector<Entry> late_;     ///< a heap: what came into the present slot or before it
  std::array<std::vector<Entry>, kSlots> slots_;
  std::size_t slot_ = 0;                   ///< the present one
  double begin_ = 0, slots_a_second_ = 0;  ///< of the calendar
  std::vector<Entry> beyond_;              ///< its end
};

}  // namespace orrery::sim
