// Structure of ranks, made when a rank first asks for its own. All ranks of a process share the
// holder, and a process with one rank makes only one.
#pragma once

#include <deque>
#include <mutex>

#include "core/base/index.hpp"

namespace orrery {

template <class T>
class OncePerRank {
 public:
  explicit OncePerRank(int ranks) : items_(static_cast<std::size_t>(ranks)) {}

  /// The rank's T; the first call makes it by make(). Thread-safe.
  template <class Make>
  const T& get(int rank, const Make& make) const {
    Item& item = items_[at(rank)];
    std::call_once(item.made, [&] { item.value = make(); });
    return item.value;
  }

 private:
  struct Item {
    std::once_flag made;
    T value;
  };
  mutable std::deque<Item> items_;
};

}  // namespace orrery
