#include "sim/replay/rank_trace.hpp"

#include <algorithm>

#include "core/runtime/breakdown_sweep.hpp"

namespace orrery::sim {
namespace {

/// What was done on one lane, one span after the other.
class LaneSpans {
 public:
  LaneSpans(int lane, const PricedProgram& program, const RankTrace& trace,
            const DoneRecords& records)
      : program_(program),
        trace_(trace),
        next_(records, trace.lanes[static_cast<std::size_t>(lane)]),
        items_(program.schedule->lanes[static_cast<std::size_t>(lane)]) {
    span_.lane = static_cast<Lane>(lane);
    find_item();
  }

  bool over() const { return next_.over(); }
  double begin() const { return next_.done().begin; }
  const Span& span();
  void advance() {
    next_.advance();
    ++item_;
    find_item();
  }

 private:
  void find_item() {
    if (over()) return;
    while (!trace_.records(*program_.schedule, items_[item_])) ++item_;
  }

  const PricedProgram& program_;
  const RankTrace& trace_;
  DoneRecords::Reader next_;
  const std::vector<LaneItem>& items_;
  std::size_t item_ = 0;
  Span span_;
};

const Span& LaneSpans::span() {
  const RankSchedule& schedule = *program_.schedule;
  const LaneItem& item = items_[item_];
  const Lane lane = span_.lane;
  span_ = {};
  span_.lane = lane;
  span_.phase = schedule.phases[item.phase];
  span_.begin = next_.done().begin;
  span_.end = next_.done().end;
  span_.external = next_.external_share();
  if (item.type == LaneItem::Type::work) {
    const Work& work = schedule.works[item.index];
    span_.kind = schedule.kinds[work.kind];
    span_.flops = work.flops;
    span_.bytes = work.bytes;
  } else if (item.type == LaneItem::Type::task) {
    span_.kind = schedule.kinds[schedule.works[item.index].kind];  // no more, as in a real one
  } else if (item.type == LaneItem::Type::access) {
    const StoreAccess& access = schedule.accesses[item.index];
    span_.kind = schedule.kinds[access.kind];
    span_.flops = access.flops;
    span_.bytes = access.bytes;
    span_.communicates = true;
  } else {
    const Call& call = schedule.calls[item.index];
    span_.kind = schedule.kinds[call.kind];
    span_.bytes = call.received;
    span_.communicates = true;
    span_.group = program_.groups[call.group].group;
    span_.root = call.root;
  }
  return span_;
}

std::vector<LaneSpans> lanes_of(const PricedProgram& program, const RankTrace& trace,
                                const DoneRecords& records) {
  std::vector<LaneSpans> lanes;
  for (int lane = 0; lane < kLanes; ++lane)
    if (trace.lanes[static_cast<std::size_t>(lane)].count > 0)
      lanes.emplace_back(lane, program, trace, records);
  return lanes;
}

}  // namespace

DoneRecords::DoneRecords(std::size_t blocks)
    : done_(blocks * kBlock * sizeof(Done)),
      external_(blocks * kBlock * sizeof(double)),
      next_(blocks) {}

bool RankTrace::records(const RankSchedule& schedule, const LaneItem& item) const {
  switch (item.type) {
    case LaneItem::Type::wait:
    case LaneItem::Type::nothing:
      return false;
    case LaneItem::Type::task:
      return reads_files || !schedule.works[item.index].reads_files();
    case LaneItem::Type::work:
    case LaneItem::Type::call:
    case LaneItem::Type::access:
      break;
  }
  return true;
}

std::size_t RankTrace::count_of(const RankSchedule& schedule, int lane) const {
  const auto& items = schedule.lanes[static_cast<std::size_t>(lane)];
  return static_cast<std::size_t>(std::count_if(
      items.begin(), items.end(), [&](const LaneItem& item) { return records(schedule, item); }));
}

Timeline timeline_of(int rank, const PricedProgram& program, const RankTrace& trace,
                     const DoneRecords& records) {
  Timeline timeline{rank, {}, trace.marks, {}};
  for (LaneSpans& lane : lanes_of(program, trace, records))
    for (; !lane.over(); lane.advance()) timeline.spans.push_back(lane.span());
  std::sort(timeline.spans.begin(), timeline.spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return timeline;
}

std::vector<EpochCost> epoch_costs(const PricedProgram& program, const RankTrace& trace,
                                   const DoneRecords& records, int epochs) {
  std::vector<BreakdownSweep> sweeps;
  for (int e = 0; e < epochs; ++e) sweeps.emplace_back(trace.marks, e);
  std::vector<LaneSpans> lanes = lanes_of(program, trace, records);
  for (;;) {
    LaneSpans* first = nullptr;
    for (LaneSpans& lane : lanes)
      if (!lane.over() && (first == nullptr || lane.begin() < first->begin())) first = &lane;
    if (first == nullptr) break;
    const Span& span = first->span();
    for (BreakdownSweep& sweep : sweeps) sweep.add(span);
    first->advance();
  }
  std::vector<EpochCost> costs;
  for (int e = 0; e < epochs; ++e)
    costs.push_back({epoch_seconds(trace.marks, e), sweeps[static_cast<std::size_t>(e)].finish()});
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
