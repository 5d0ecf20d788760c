// The next event.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/index.hpp"

namespace orrery::sim {

/// Numbered things with a time each, the earliest first; equal times by their order. A binary heap
/// that knows where each number is, so that a time can change.
class Agenda {
 public:
  bool empty() const { return heap_.empty(); }
  int first() const { return heap_.front().number; }
  double time() const { return heap_.front().time; }

  /// Enters a number, or moves it.
  void set(int number, double time, std::uint64_t order);
  /// Requires that the number is in it.
  void remove(int number);

 private:
  struct Entry {
    double time;
    std::uint64_t order;
    int number;
    bool before(const Entry& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };
  static constexpr int kAbsent = -1;
  void put(std::size_t place, const Entry& entry);
  void rise(std::size_t place, const Entry& entry);
  void sink(std::size_t place, const Entry& entry);

  std::vector<Entry> heap_;
  std::vector<int> places_;  ///< in the heap, of each number
};

}  // namespace orrery::sim
