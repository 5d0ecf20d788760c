#include "sim/network/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

constexpr double kUnlimited = 1e18;  // bytes per second
constexpr double kRounding = 1e-11;  // rates that differ relatively by less are equal

}  // namespace

MaxMin::MaxMin(const std::vector<double>& bytes_per_second) : capacities_(bytes_per_second.size()) {
  for (std::size_t c = 0; c < capacities_.size(); ++c)
    capacities_[c].bytes_per_second = bytes_per_second[c];
}

void MaxMin::change(int capacity) {
  if (std::exchange(capacities_[at(capacity)].changed, true)) return;
  touched_by_change_.push_back(capacity);
}

void MaxMin::Members::add(int flow) {
  if (count_++ == 0)
    first_ = flow;
  else
    more_.push_back(flow);
}

void MaxMin::Members::remove(int flow) {
  --count_;
  if (count_ == 0) return;
  const int last = more_.back();
  if (flow == first_)
    first_ = last;
  else
    *std::find(more_.begin(), more_.end(), flow) = last;
  more_.pop_back();
}

int MaxMin::add(const std::vector<int>& route) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(flows_.size()));
    flows_.emplace_back();
  }
  const int number = free_.back();
  free_.pop_back();
  Flow& flow = flows_[at(number)];
  flow.route = &route;
  flow.rate = kUnlimited;
  flow.bottleneck = kNone;
  bool alone = true;
  for (const int c : route) {
    Capacity& capacity = capacities_[at(c)];
    capacity.members.add(number);
    alone = alone && capacity.members.size() == 1;
    // The bottleneck of a flow that is alone, as fill() would choose it.
    const bool less = capacity.bytes_per_second < flow.rate;
    if (!less && (capacity.bytes_per_second > flow.rate || c > flow.bottleneck)) continue;
    flow.rate = capacity.bytes_per_second;
    flow.bottleneck = c;
  }
  if (alone) {
    for (const int c : route) capacities_[at(c)].used = flow.rate;
    if (flow.bottleneck != kNone) capacities_[at(flow.bottleneck)].binds = true;
    return number;
  }
  flow.rate = 0;
  flow.bottleneck = kNone;
  new_.push_back(number);
  for (const int c : route) change(c);
  return number;
}

void MaxMin::remove(int number) {
  const Flow& flow = flows_[at(number)];
  for (const int c : *flow.route) {
    Capacity& capacity = capacities_[at(c)];
    capacity.members.remove(number);
    if (capacity.members.size() > 0) {
      capacity.used -= flow.rate;
      change(c);
    } else {
      capacity.used = 0;
      capacity.binds = false;
    }
  }
  if (flow.bottleneck == kNone) std::erase(new_, number);
  free_.push_back(number);
}

/// Has a flow filled again.
void MaxMin::open(int number) {
  Flow& flow = flows_[at(number)];
  if (std::exchange(flow.open, true)) return;
  open_.push_back(number);
  int least = flow.route->front();  // bounds the flow whatever the others do
  for (const int c : *flow.route) {
    Capacity& capacity = capacities_[at(c)];
    if (!std::exchange(capacity.touched, true)) touched_.push_back(c);
    const double less = capacities_[at(least)].bytes_per_second - capacity.bytes_per_second;
    if (less > 0 || (less == 0 && c < least)) least = c;
  }
  capacities_[at(least)].asked = true;
}

void MaxMin::settle(std::vector<int>& changed) {
  for (const int c : touched_by_change_) {
    Capacity& capacity = capacities_[at(c)];
    capacity.changed = false;
    if (!std::exchange(capacity.binds, false)) continue;
    for (int i = 0; i < capacity.members.size(); ++i)
      if (flows_[at(capacity.members[i])].bottleneck == c) open(capacity.members[i]);
  }
  for (const int number : new_) open(number);
  new_.clear();
  touched_by_change_.clear();
  do fill();
  while (!hold_together());
  for (const int number : open_) {
    Flow& flow = flows_[at(number)];
    flow.open = false;
    flow.bottleneck = flow.filled_at;
    if (flow.bottleneck != kNone) capacities_[at(flow.bottleneck)].binds = true;
    if (std::abs(flow.filled - flow.rate) <= 1e-3 * kRounding * flow.rate) continue;
    for (const int c : *flow.route) capacities_[at(c)].used += flow.filled - flow.rate;
    flow.rate = flow.filled;
    changed.push_back(number);
  }
  for (const int c : touched_) capacities_[at(c)].touched = capacities_[at(c)].asked = false;
  open_.clear();
  touched_.clear();
}

/// Progressive filling of the open flows in what the others leave: the capacity that gives the
/// least to each of its growing flows stops these first.
void MaxMin::fill() {
  for (const int number : open_) flows_[at(number)].growing = true;
  shares_.clear();
  for (const int c : touched_) {
    Capacity& capacity = capacities_[at(c)];
    capacity.asked = capacity.asked || capacity.binds || !capacity.far_from_full(capacity.used);
    if (!capacity.asked) continue;
    capacity.left = capacity.bytes_per_second;
    capacity.growing = 0;
    for (int i = 0; i < capacity.members.size(); ++i) {
      const Flow& flow = flows_[at(capacity.members[i])];
      if (flow.open)
        ++capacity.growing;
      else
        capacity.left -= flow.rate;
    }
    capacity.left = std::max(0.0, capacity.left);
    shares_.emplace_back(capacity.left / capacity.growing, c);
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>());
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    auto [share, c] = shares_.back();
    Capacity& full = capacities_[at(c)];
    if (full.growing == 0) {
      shares_.pop_back();
      continue;
    }
    // Since this share was entered, other flows of the capacity have stopped, so the rest get more.
    if (const double today = std::max(0.0, full.left) / full.growing; today > share) {
      shares_.back().first = today;
      std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
      continue;
    }
    shares_.pop_back();
    for (int i = 0; i < full.members.size(); ++i) {
      Flow& flow = flows_[at(full.members[i])];
      if (!flow.growing) continue;
      flow.growing = false;
      flow.filled = share;
      flow.filled_at = c;
      for (const int other : *flow.route) {
        capacities_[at(other)].left -= share;
        --capacities_[at(other)].growing;
      }
    }
  }
}

/// Whether every flow has its bottleneck. Those by whom one has none are opened.
bool MaxMin::hold_together() {
  const std::size_t before = open_.size();
  bool all_asked = true;
  for (const int c : touched_) {
    Capacity& capacity = capacities_[at(c)];
    if (!capacity.asked) capacity.left = capacity.used;
  }
  for (const int number : open_)
    for (const int c : *flows_[at(number)].route)
      if (!capacities_[at(c)].asked)
        capacities_[at(c)].left += flows_[at(number)].filled - flows_[at(number)].rate;
  for (std::size_t i = 0, touched = touched_.size(); i < touched; ++i) {
    const int c = touched_[i];
    Capacity& capacity = capacities_[at(c)];
    if (!capacity.asked) {
      capacity.asked = !capacity.far_from_full(capacity.left);
      all_asked = all_asked && !capacity.asked;
      continue;
    }
    double used = 0, fastest = 0, least_bound = 2 * kUnlimited;
    for (int m = 0; m < capacity.members.size(); ++m) {
      const Flow& flow = flows_[at(capacity.members[m])];
      used += now(flow);
      fastest = std::max(fastest, now(flow));
      if (flow.open && flow.filled_at == c) least_bound = std::min(least_bound, flow.filled);
    }
    const bool full = used >= capacity.bytes_per_second * (1 - kRounding);
    for (int m = 0; m < capacity.members.size(); ++m) {
      const Flow& flow = flows_[at(capacity.members[m])];
      if (flow.open) continue;
      const bool too_fast = flow.rate > least_bound * (1 + kRounding);
      const bool lost = flow.bottleneck == c && (!full || flow.rate < fastest * (1 - kRounding));
      if (too_fast || lost) open(capacity.members[m]);
    }
  }
  return all_asked && open_.size() == before;
}

}  // namespace orrery::sim
