// What is known to be done when an item begins: vector clocks over the lanes of one rank and its
// host.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/index.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

/// clock[lane] = number of items of that lane that are known to be done.
using Clock = std::array<std::uint32_t, kLanes>;

/// The clocks of a program, read step by step.
class LaneClocks {
 public:
  /// Starts the next item of a lane and returns what is known to be done before it. The item's own
  /// position, counted from 1, is that of the lane plus one.
  Clock begin_item(Lane lane);
  /// The lane's next item is a wait for the event; false if that is never reached.
  bool wait(Lane lane, const Event& event);
  /// The host waits for the event; false if that is never reached.
  bool sync(const Event& event);
  /// Items of the lane so far.
  std::uint32_t items(Lane lane) const { return lanes_[at(lane)][at(lane)]; }
  /// What the host knows to be done.
  const Clock& host() const { return host_; }

 private:
  /// Null if the event is never reached.
  const Clock* clock_at(const Event& event) const;

  std::array<Clock, kLanes> lanes_{};
  Clock host_{};
  std::array<std::vector<Clock>, kLanes> history_;  ///< clock after each item
};

}  // namespace orrery
