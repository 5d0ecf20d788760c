#include "sim/replay/rank_trace.hpp"

#include <algorithm>

namespace orrery::sim {

void RankTrace::reserve(const RankSchedule& schedule) {
  for (std::size_t lane = 0; lane < done.size(); ++lane)
    done[lane].reserve(static_cast<std::size_t>(std::count_if(
        schedule.lanes[lane].begin(), schedule.lanes[lane].end(), [](const LaneItem& item) {
          return item.type != LaneItem::Type::wait && item.type != LaneItem::Type::nothing;
        })));
}

Timeline timeline_of(int rank, const PricedProgram& program, const RankTrace& trace) {
  const RankSchedule& schedule = *program.schedule;
  Timeline timeline{rank, {}, trace.marks, trace.memory};
  for (std::size_t lane = 0; lane < trace.done.size(); ++lane)
    for (const RankTrace::Done& done : trace.done[lane]) {
      const LaneItem& item = schedule.lanes[lane][done.item];
      Span span;
      span.lane = static_cast<Lane>(lane);
      span.phase = schedule.phases[item.phase];
      span.begin = done.begin;
      span.end = done.end;
      span.external = done.external;
      if (item.type == LaneItem::Type::work) {
        const Work& work = schedule.works[item.index];
        span.kind = schedule.kinds[work.kind];
        span.flops = work.flops;
        span.bytes = work.bytes;
      } else if (item.type == LaneItem::Type::task) {
        span.kind = schedule.kinds[schedule.works[item.index].kind];  // no more, as in a real one
      } else if (item.type == LaneItem::Type::access) {
        const StoreAccess& access = schedule.accesses[item.index];
        span.kind = schedule.kinds[access.kind];
        span.flops = access.flops;
        span.bytes = access.bytes;
        span.communicates = true;
      } else {
        const Call& call = schedule.calls[item.index];
        span.kind = schedule.kinds[call.kind];
        span.bytes = call.received;
        span.communicates = true;
        span.group = program.groups[call.group].group;
        span.root = call.root;
      }
      timeline.spans.push_back(span);
    }
  std::sort(timeline.spans.begin(), timeline.spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return timeline;
}

std::vector<EpochCost> epoch_costs(const Timeline& timeline, int epochs) {
  std::vector<EpochCost> costs;
  for (int e = 0; e < epochs; ++e)
    costs.push_back({epoch_seconds(timeline.marks, e), epoch_breakdown(timeline, e)});
  return costs;
}

Timeline kept_epochs(Timeline all, EpochRange epochs) {
  int last = 0;
  for (const Span& span : all.spans) last = std::max(last, int{span.phase.epoch});
  epochs.first = std::min(epochs.first, last);
  const bool from_set_up = epochs.first == 0 && epochs.count > 0;
  std::erase_if(all.spans, [&](const Span& s) {
    return !epochs.contains(s.phase.epoch) && !(from_set_up && s.phase.epoch < 0);
  });
  const double end = all.spans.empty() ? 0 : all.spans.back().end;
  std::erase_if(all.memory, [&](const Timeline::MemoryMark& m) { return m.at > end; });
  return all;
}

}  // namespace orrery::sim
