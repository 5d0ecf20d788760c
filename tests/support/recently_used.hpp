// The plainest model of a cache that keeps the rows that were requested last.
#pragma once

#include <algorithm>
#include <list>
#include <utility>

#include "core/graph/csr.hpp"

namespace orrery::testing {

/// A list of the rows that are kept: by the last time they were asked for, newest first (lru), or as
/// a queue in which the first that was not asked for since its last turn leaves (clock).
class RecentlyUsed {
 public:
  RecentlyUsed(bool lru, std::size_t slots) : lru_(lru), slots_(slots) {}

  /// Whether the row was there when it was asked for.
  bool ask(Vertex row) {
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& entry) { return entry.first == row; });
    const bool there = found != kept_.end();
    if (there && lru_)
      kept_.splice(kept_.begin(), kept_, found);
    else if (there)
      found->second = true;
    else if (lru_)
      push_front(row);
    else
      push_back(row);
    return there;
  }

 private:
  void push_front(Vertex row) {
    kept_.emplace_front(row, true);
    if (kept_.size() > slots_) kept_.pop_back();
  }
  void push_back(Vertex row) {
    if (slots_ == 0) return;
    if (kept_.size() == slots_) {
      while (kept_.front().second) {
        kept_.front().second = false;
        kept_.splice(kept_.end(), kept_, kept_.begin());
      }
      kept_.pop_front();
    }
    kept_.emplace_back(row, true);
  }

  bool lru_;
  std::size_t slots_;
  std::list<std::pair<Vertex, bool>> kept_;
};

}  // namespace orrery::testing
