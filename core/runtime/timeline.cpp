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

using Part = double Breakdown::*;

/// What spans are charged to, most important first: of several at one instant the first one gets
/// it.
constexpr std::array<Part, 6> kCharges{&Breakdown::compute,  &Breakdown::external,
                                       &Breakdown::internal, &Breakdown::synchronise,
                                       &Breakdown::load,     &Breakdown::sample};
static_assert(kCharges.size() + 2 == kEpochParts.size(), "every part but other and hidden");

Part seconds_of(const Span& span) {
  if (span.communicates && span.phase.stage == Stage::synchronise) return &Breakdown::synchronise;
  if (span.communicates) return span.crosses_servers ? &Breakdown::external : &Breakdown::internal;
  if (span.lane == Lane::sampler) return &Breakdown::sample;
  if (span.lane == Lane::copy || span.lane == Lane::store || span.phase.stage == Stage::load)
    return &Breakdown::load;
  return &Breakdown::compute;
}

/// Its place in kCharges.
std::size_t charge_of(Part part) {
  return at(std::find(kCharges.begin(), kCharges.end(), part) - kCharges.begin());
}

struct SpanEnd {
  double at;
  std::size_t charge;
  int change;
};

/// How many spans of each part are under way.
struct Active {
  std::array<int, kCharges.size()> spans{};

  bool of(Part part) const { return spans[charge_of(part)] > 0; }
  bool communication() const {
    return std::any_of(kEpochParts.begin(), kEpochParts.end(), [this](const EpochPart& part) {
      return part.communication && part.in_sum && of(part.seconds);
    });
  }
  /// The part that gets this instant.
  Part charged() const {
    const auto first = std::find_if(spans.begin(), spans.end(), [](int n) { return n > 0; });
    return first == spans.end() ? &Breakdown::other : kCharges[at(first - spans.begin())];
  }
};

}  // namespace

const EpochPart& part_of(const Span& span) {
  return *std::find_if(kEpochParts.begin(), kEpochParts.end(),
                       [&](const EpochPart& part) { return part.seconds == seconds_of(span); });
}

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
    const Part part = seconds_of(span);
    edges.push_back({from, charge_of(part), +1});
    edges.push_back({to, charge_of(part), -1});
    if (part == &Breakdown::compute) result.compute_by_kind[std::string(span.kind)] += to - from;
  }
  std::sort(edges.begin(), edges.end(),
            [](const SpanEnd& a, const SpanEnd& b) { return a.at < b.at; });

  Active active;
  double now = begin;
  const auto pass = [&](double until) {
    result.*active.charged() += until - now;
    if (active.of(&Breakdown::compute) && active.communication()) result.hidden += until - now;
    now = until;
  };
  for (const SpanEnd& edge : edges) {
    pass(edge.at);
    active.spans[edge.charge] += edge.change;
  }
  pass(end);
  return result;
}

}  // namespace orrery
