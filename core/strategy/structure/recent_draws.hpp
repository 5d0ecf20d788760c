// Structure that may be drawn in every epoch. The last draws are kept, so that ranks of a process
// that ask for the same draw share it.
#pragma once

#include <deque>
#include <mutex>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {

template <class T>
class RecentDraws {
 public:
  /// `kept`: draws to keep per slot; ranks that share a slot may be this far apart.
  explicit RecentDraws(int slots, std::size_t kept = 2)
      : slots_(static_cast<std::size_t>(slots)), kept_(kept) {}

  /// Draw `draw` of a slot: kept, or made by make(). Thread-safe; copies T.
  template <class Make>
  T get(int slot, int draw, const Make& make) const {
    Slot& at = slots_[orrery::at(slot)];
    const std::lock_guard lock(at.mutex);
    for (const auto& [kept, value] : at.recent)
      if (kept == draw) return value;
    at.recent.emplace_front(draw, make());
    if (at.recent.size() > kept_) at.recent.pop_back();
    return at.recent.front().second;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::deque<std::pair<int, T>> recent;
  };
  mutable std::deque<Slot> slots_;
  std::size_t kept_;
};

}  // namespace orrery
