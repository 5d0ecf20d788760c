#include "core/runtime/timeline.hpp"

#include <algorithm>
#include <optional>

#include "core/runtime/breakdown_sweep.hpp"

namespace orrery {

const EpochPart& part_of(const Span& span) {
  double Breakdown::*seconds = &Breakdown::other;
  const std::optional<Charge> charge = charge_of(span);
  if (charge) switch (*charge) {
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

Breakdown epoch_breakdown(const Timeline& timeline, int epoch) {
  const auto earlier = [](const Span& a, const Span& b) { return a.begin < b.begin; };
  BreakdownSweep sweep(timeline.marks, epoch);
  if (std::is_sorted(timeline.spans.begin(), timeline.spans.end(), earlier)) {
    for (const Span& span : timeline.spans) sweep.add(span);
  } else {
    std::vector<Span> spans = timeline.spans;
    std::stable_sort(spans.begin(), spans.end(), earlier);
    for (const Span& span : spans) sweep.add(span);
  }
  return sweep.finish();
}

}  // namespace orrery
