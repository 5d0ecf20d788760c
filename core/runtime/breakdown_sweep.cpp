#include "core/runtime/breakdown_sweep.hpp"

#include <algorithm>
#include <limits>

#include "core/base/index.hpp"

namespace orrery {
namespace {

static_assert(kCharges + 3 == kEpochParts.size(),
              "every part but other and hidden; exchange is two");

/// When the host was in the epoch, in order: once, unless several epochs run together.
std::vector<std::pair<double, double>> epoch_windows(const std::vector<Timeline::Mark>& marks,
                                                     int epoch) {
  const auto inside = [epoch](const Timeline::Mark& m) {
    return m.phase.in_epoch() && m.phase.epoch == epoch;
  };
  std::vector<std::pair<double, double>> windows;
  for (auto next = marks.begin(); next != marks.end();) {
    const auto first = std::find_if(next, marks.end(), inside);
    next = std::find_if_not(first, marks.end(), inside);
    if (next != marks.end()) windows.emplace_back(first->at, next->at);
  }
  return windows;
}

}  // namespace

std::optional<Charge> charge_of(const Span& span) {
  if (span.communicates && span.phase.stage == Stage::synchronise) return Charge::synchronise;
  if (span.communicates) return Charge::exchange;
  if (span.lane == Lane::sampler) return Charge::sample;
  if (span.lane == Lane::copy || span.lane == Lane::store || span.phase.stage == Stage::load)
    return Charge::load;
  if (span.lane == Lane::host) return std::nullopt;
  return Charge::compute;
}

double epoch_seconds(const std::vector<Timeline::Mark>& marks, int epoch) {
  double seconds = 0;
  for (const auto& [begin, end] : epoch_windows(marks, epoch)) seconds += end - begin;
  return seconds;
}

BreakdownSweep::BreakdownSweep(const std::vector<Timeline::Mark>& marks, int epoch)
    : windows_(epoch_windows(marks, epoch)), now_(windows_.empty() ? 0 : windows_.front().first) {}

void BreakdownSweep::add(const Span& span) {
  if (window_ == windows_.size() || span.end <= now_ || span.end <= span.begin) return;
  if (span.begin >= windows_.back().second) return;
  const std::optional<Charge> charge = charge_of(span);
  if (!charge) return;
  pass(span.begin);
  if (*charge == Charge::compute) {
    auto kind = std::find_if(by_kind_.begin(), by_kind_.end(),
                             [&](const auto& known) { return known.first == span.kind; });
    for (std::size_t w = window_; w < windows_.size() && windows_[w].first < span.end; ++w) {
      const double from = std::max(windows_[w].first, span.begin),
                   to = std::min(windows_[w].second, span.end);
      if (from >= to) continue;
      if (kind == by_kind_.end()) kind = by_kind_.insert(kind, {span.kind, 0.0});
      kind->second += to - from;
    }
  }
  const auto ends_later = [](const Active& a, double end) { return a.end > end; };
  active_.insert(std::lower_bound(active_.begin(), active_.end(), span.end, ends_later),
                 {span.end, span.external, *charge});
  ++active_of_[at(*charge)];
}

Breakdown BreakdownSweep::finish() {
  pass(std::numeric_limits<double>::infinity());
  for (const auto& [kind, seconds] : by_kind_)
    result_.compute_by_kind.emplace(std::string(kind), seconds);
  return std::move(result_);
}

/// Spans that end until then leave.
void BreakdownSweep::pass(double until) {
  while (!active_.empty() && active_.back().end <= until) {
    advance(active_.back().end);
    --active_of_[at(active_.back().charge)];
    active_.pop_back();
  }
  advance(until);
}

/// Charges the time to what is under way, as far as it lies in the epoch.
void BreakdownSweep::advance(double until) {
  while (window_ < windows_.size() && now_ < until) {
    const auto [first, second] = windows_[window_];
    if (now_ < first) {
      now_ = std::min(first, until);
      continue;
    }
    const double to = std::min(second, until);
    if (to > now_) charge(to - now_);
    now_ = std::max(now_, to);
    if (now_ >= second) ++window_;
  }
}

/// If there are several exchanges, the one with the largest share between servers counts.
void BreakdownSweep::charge(double seconds) {
  if (is_active(Charge::compute)) {
    result_.compute += seconds;
    if (is_active(Charge::exchange) || is_active(Charge::synchronise)) result_.hidden += seconds;
  } else if (is_active(Charge::exchange)) {
    double share = 0;
    for (const Active& span : active_)
      if (span.charge == Charge::exchange) share = std::max(share, span.external);
    const double external = share * seconds;
    result_.external += external;
    result_.internal += seconds - external;
  } else if (is_active(Charge::synchronise)) {
    result_.synchronise += seconds;
  } else if (is_active(Charge::load)) {
    result_.load += seconds;
  } else if (is_active(Charge::sample)) {
    result_.sample += seconds;
  } else {
    result_.other += seconds;
  }
}

}  // namespace orrery
