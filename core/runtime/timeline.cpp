#include "core/runtime/timeline.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {
namespace {

std::optional<std::pair<double, double>> epoch_window(const std::vector<Timeline::Mark>& marks,
                                                      int epoch) {
  const auto inside = [epoch](const Timeline::Mark& m) {
    return m.phase.in_epoch() && m.phase.epoch == epoch;
  };
  const auto first = std::find_if(marks.begin(), marks.end(), inside);
  const auto next = std::find_if_not(first, marks.end(), inside);
  if (first == marks.end() || next == marks.end()) return std::nullopt;
  return std::pair(first->at, next->at);
}

/// What a span is charged to, most important first: of several at one instant the first one gets
/// it.
enum Charge : std::uint8_t {
  kCompute,
  kExternal,
  kInternal,
  kSynchronise,
  kLoad,
  kSample,
  kCharges
};

Charge charge_of(const Span& span) {
  if (span.communicates && span.phase.stage == Stage::synchronise) return kSynchronise;
  if (span.communicates) return span.crosses_servers ? kExternal : kInternal;
  if (span.lane == Lane::sampler) return kSample;
  if (span.lane == Lane::copy || span.lane == Lane::store || span.phase.stage == Stage::load)
    return kLoad;
  return kCompute;
}

struct SpanEnd {
  double at;
  Charge charge;
  int change;
};

}  // namespace

double epoch_seconds(const std::vector<Timeline::Mark>& marks, int epoch) {
  const auto window = epoch_window(marks, epoch);
  return window ? window->second - window->first : 0;
}

Breakdown epoch_breakdown(const Timeline& timeline, int epoch) {
  Breakdown result;
  const auto window = epoch_window(timeline.marks, epoch);
  if (!window) return result;
  const auto [begin, end] = *window;

  std::vector<SpanEnd> edges;
  for (const Span& span : timeline.spans) {
    const double from = std::max(begin, span.begin), to = std::min(end, span.end);
    if (from >= to) continue;
    edges.push_back({from, charge_of(span), +1});
    edges.push_back({to, charge_of(span), -1});
    if (charge_of(span) == kCompute) result.compute_by_kind[std::string(span.kind)] += to - from;
  }
  std::sort(edges.begin(), edges.end(),
            [](const SpanEnd& a, const SpanEnd& b) { return a.at < b.at; });

  std::array<int, kCharges> active{};
  std::array<double, kCharges> seconds{};
  double now = begin;
  const auto pass = [&](double until) {
    const auto charged = std::find_if(active.begin(), active.end(), [](int n) { return n > 0; });
    if (charged == active.end())
      result.other += until - now;
    else
      seconds[at(charged - active.begin())] += until - now;
    const bool communicating =
        active[kExternal] > 0 || active[kInternal] > 0 || active[kSynchronise] > 0;
    if (active[kCompute] > 0 && communicating) result.hidden += until - now;
    now = until;
  };
  for (const SpanEnd& edge : edges) {
    pass(edge.at);
    active[edge.charge] += edge.change;
  }
  pass(end);

  result.compute = seconds[kCompute];
  result.external = seconds[kExternal];
  result.internal = seconds[kInternal];
  result.synchronise = seconds[kSynchronise];
  result.load = seconds[kLoad];
  result.sample = seconds[kSample];
  return result;
}

}  // namespace orrery
