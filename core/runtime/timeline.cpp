#include "core/runtime/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {
namespace {

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

/// What spans are charged to, most important first: an instant with several spans goes to the first
/// of them. An exchange is charged to both parts of communication, by its share that crosses
/// servers.
enum class Charge : std::uint8_t { compute, exchange, synchronise, load, sample };
constexpr std::size_t kCharges = 5;
static_assert(kCharges + 3 == kEpochParts.size(),
              "every part but other and hidden; exchange is two");

Charge charge_of(const Span& span) {
  if (span.communicates && span.phase.stage == Stage::synchronise) return Charge::synchronise;
  if (span.communicates) return Charge::exchange;
  if (span.lane == Lane::sampler) return Charge::sample;
  if (span.lane == Lane::copy || span.lane == Lane::store || span.phase.stage == Stage::load)
    return Charge::load;
  return Charge::compute;
}

struct SpanEnd {
  double at;
  Charge charge;
  double external;
  bool begins;
};

/// The spans that are under way.
class Active {
 public:
  void change(const SpanEnd& end) {
    spans_[at(static_cast<int>(end.charge))] += end.begins ? 1 : -1;
    if (end.charge != Charge::exchange) return;
    if (end.begins)
      shares_.insert(end.external);
    else
      shares_.erase(shares_.find(end.external));
  }
  bool of(Charge charge) const { return spans_[at(static_cast<int>(charge))] > 0; }
  bool communication() const { return of(Charge::exchange) || of(Charge::synchronise); }

  /// Adds the time to its part. If there are several exchanges, the one with the largest share
  /// between servers counts.
  void add(Breakdown& to, double seconds) const {
    if (of(Charge::compute)) {
      to.compute += seconds;
      if (communication()) to.hidden += seconds;
    } else if (of(Charge::exchange)) {
      const double external = *shares_.rbegin() * seconds;
      to.external += external;
      to.internal += seconds - external;
    } else if (of(Charge::synchronise)) {
      to.synchronise += seconds;
    } else if (of(Charge::load)) {
      to.load += seconds;
    } else if (of(Charge::sample)) {
      to.sample += seconds;
    } else {
      to.other += seconds;
    }
  }

 private:
  std::array<int, kCharges> spans_{};
  std::multiset<double> shares_;  ///< share of the exchanges
};

}  // namespace

const EpochPart& part_of(const Span& span) {
  double Breakdown::*seconds = nullptr;
  switch (charge_of(span)) {
    case Charge::compute:
      seconds = &Breakdown::compute;
      break;
    case Charge::exchange:
      seconds = span.external >= 0.5 ? &Breakdown::external : &Breakdown::internal;
      break;
    case Charge::synchronise:
      seconds = &Breakdown::synchronise;
      break;
    case Charge::load:
      seconds = &Breakdown::load;
      break;
    case Charge::sample:
      seconds = &Breakdown::sample;
      break;
  }
  return *std::find_if(kEpochParts.begin(), kEpochParts.end(),
                       [&](const EpochPart& part) { return part.seconds == seconds; });
}

double epoch_seconds(const std::vector<Timeline::Mark>& marks, int epoch) {
  double seconds = 0;
  for (const auto& [begin, end] : epoch_windows(marks, epoch)) seconds += end - begin;
  return seconds;
}

Breakdown epoch_breakdown(const Timeline& timeline, int epoch) {
  Breakdown result;
  const auto windows = epoch_windows(timeline.marks, epoch);

  std::vector<SpanEnd> edges;
  for (const Span& span : timeline.spans) {
    auto window = std::upper_bound(windows.begin(), windows.end(), span.begin,
                                   [](double at, const auto& w) { return at < w.second; });
    for (; window != windows.end() && window->first < span.end; ++window) {
      const double from = std::max(window->first, span.begin);
      const double to = std::min(window->second, span.end);
      if (from >= to) continue;
      const Charge charge = charge_of(span);
      edges.push_back({from, charge, span.external, true});
      edges.push_back({to, charge, span.external, false});
      if (charge == Charge::compute) result.compute_by_kind[std::string(span.kind)] += to - from;
    }
  }
  std::sort(edges.begin(), edges.end(),
            [](const SpanEnd& a, const SpanEnd& b) { return a.at < b.at; });

  Active active;
  auto edge = edges.begin();
  for (const auto& [begin, end] : windows) {
    double now = begin;
    for (; edge != edges.end() && edge->at <= end; ++edge) {
      active.add(result, edge->at - now);
      now = edge->at;
      active.change(*edge);
    }
    active.add(result, end - now);
  }
  return result;
}

}  // namespace orrery
