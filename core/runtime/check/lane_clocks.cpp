#include "core/runtime/check/lane_clocks.hpp"

#include <algorithm>

namespace orrery {
namespace {

void join(Clock& into, const Clock& other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

}  // namespace

Clock LaneClocks::begin_item(Lane lane) {
  Clock& clock = lanes_[at(lane)];
  join(clock, host_);  // issued after everything that the host has seen
  const Clock before = clock;
  ++clock[at(lane)];
  history_[at(lane)].push_back(clock);
  return before;
}

bool LaneClocks::wait(Lane lane, const Event& event) {
  const Clock* found = clock_at(event);
  if (found == nullptr) return false;
  const Clock reached = *found;  // begin_item() may move it
  begin_item(lane);
  join(lanes_[at(lane)], reached);
  history_[at(lane)].back() = lanes_[at(lane)];
  return true;
}

bool LaneClocks::sync(const Event& event) {
  const Clock* reached = clock_at(event);
  if (reached == nullptr) return false;
  join(host_, *reached);
  return true;
}

const Clock* LaneClocks::clock_at(const Event& event) const {
  static const Clock nothing{};
  const auto& past = history_[at(event.lane)];
  if (event.position > past.size()) return nullptr;
  return event.position == 0 ? &nothing : &past[event.position - 1];
}

}  // namespace orrery
