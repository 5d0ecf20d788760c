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

int MaxMin::add(const std::vector<int>& route) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(flows_.size()));
    flows_.emplace_back();
  }
  const int number = free_.back();
  free_.pop_back();
  Flow& flow = flows_[at(number)];
  flow.route = &route;
  flow.rate = route.empty() ? kUnlimited : 0;
  flow.bottleneck = kNone;
  flow.places.resize(route.size());
  for (std::size_t hop = 0; hop < route.size(); ++hop) {
    auto& members = capacities_[at(route[hop])].members;
    flow.places[hop] = static_cast<int>(members.size());
    members.push_back({number, static_cast<int>(hop)});
    change(route[hop]);
  }
  return number;
}

void MaxMin::remove(int number) {
  const Flow& flow = flows_[at(number)];
  for (std::size_t hop = 0; hop < flow.route->size(); ++hop) {
    const int capacity = (*flow.route)[hop];
    auto& members = capacities_[at(capacity)].members;
    const Member last = members.back();
    members[at(flow.places[hop])] = last;
    flows_[at(last.flow)].places[at(last.hop)] = flow.places[hop];
    members.pop_back();
    change(capacity);
  }
  free_.push_back(number);
}

/// Has a flow filled again.
void MaxMin::open(int number) {
  Flow& flow = flows_[at(number)];
  if (std::exchange(flow.open, true)) return;
  open_.push_back(number);
  for (const int c : *flow.route)
    if (!std::exchange(capacities_[at(c)].touched, true)) touched_.push_back(c);
}

void MaxMin::settle(std::vector<int>& changed) {
  for (const int c : touched_by_change_) {
    capacities_[at(c)].changed = false;
    for (const Member& member : capacities_[at(c)].members) {
      const int bottleneck = flows_[at(member.flow)].bottleneck;
      if (bottleneck == c || bottleneck == kNone) open(member.flow);
    }
  }
  touched_by_change_.clear();
  do fill();
  while (!hold_together());
  for (const int number : open_) {
    Flow& flow = flows_[at(number)];
    flow.open = false;
    flow.bottleneck = flow.filled_at;
    if (std::abs(flow.filled - flow.rate) <= 1e-3 * kRounding * flow.rate) continue;
    flow.rate = flow.filled;
    changed.push_back(number);
  }
  for (const int c : touched_) capacities_[at(c)].touched = false;
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
    capacity.left = capacity.bytes_per_second;
    capacity.growing = 0;
    for (const Member& member : capacity.members) {
      const Flow& flow = flows_[at(member.flow)];
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
    for (const Member& member : full.members) {
      Flow& flow = flows_[at(member.flow)];
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
  for (std::size_t i = 0, touched = touched_.size(); i < touched; ++i) {
    const int c = touched_[i];
    const Capacity& capacity = capacities_[at(c)];
    double used = 0, fastest = 0, least_bound = 2 * kUnlimited;
    for (const Member& member : capacity.members) {
      const Flow& flow = flows_[at(member.flow)];
      used += now(flow);
      fastest = std::max(fastest, now(flow));
      if (flow.open && flow.filled_at == c) least_bound = std::min(least_bound, flow.filled);
    }
    const bool full = used >= capacity.bytes_per_second * (1 - kRounding);
    for (const Member& member : capacity.members) {
      const Flow& flow = flows_[at(member.flow)];
      if (flow.open) continue;
      const bool too_fast = flow.rate > least_bound * (1 + kRounding);
      const bool lost = flow.bottleneck == c && (!full || flow.rate < fastest * (1 - kRounding));
      if (too_fast || lost) open(member.flow);
    }
  }
  return open_.size() == before;
}

}  // namespace orrery::sim
