// What an event will need, brought near before it comes: the network tells it some time ahead. Of
// thousands of ranks each comes back so seldom that the near caches have forgotten it.
#include "core/base/prefetch.hpp"
#include "sim/replay/replayer.hpp"

namespace orrery::sim {

void Replayer::expect(std::uint64_t token, int nearness) {
  const auto what = static_cast<Happening>(token >> (2 * kBits));
  const auto mask = (std::uint64_t{1} << kBits) - 1;
  const auto a = static_cast<int>(token >> kBits & mask), b = static_cast<int>(token & mask);
  switch (what) {
    case Happening::processor:
      if (nearness == 0) prefetch(&processors_[at(a)]);
      if (nearness == 1) processors_[at(a)].expect();
      if (nearness == 2 && processors_[at(a)].next() != Processor::kNothing)
        expect(processors_[at(a)].next(), 0);
      return;
    case Happening::lane:
    case Happening::work:
    case Happening::task:
      return expect_of(ranks_[at(a)], b, nearness);
    case Happening::arrival:
    case Happening::core:
    case Happening::message:
    case Happening::release:
    case Happening::sum:
      // One that was called off may be of a collective that is over.
      if (live_[at(a)].plan && live_[at(a)].instance.has(b))
        expect_message(live_[at(a)], b, nearness);
      return;
    default:
      return;
  }
}

void Replayer::expect_of(const Rank& rank, int lane, int nearness) const {
  if (nearness == 0) {
    prefetch(&rank);
    prefetch(&rank.base);
    prefetch(&rank.lanes[at(lane)]);
  } else if (nearness == 1) {
    prefetch(&rank.lanes[at(Lane::compute)]);
    prefetch(&rank.lanes[at(Lane::comm)]);
  } else {
    const RankTrace::OfLane& trace = rank.lanes[at(lane)].trace;
    prefetch(trace.done + trace.count);
  }
}

void Replayer::expect_message(const Live& live, int m, int nearness) const {
  if (nearness == 0) return live.instance.expect(m);
  const MessagePlan::Path& path = live.instance.path(m);
  const int to = live.plan->members.rank_of(path.to);
  if (nearness == 1) {
    expect_of(ranks_[at(to)], static_cast<int>(live.key.lane), 0);
    if (path.connection != CallPlan::kCopied) traffic_.expect(path.connection);
  } else {
    expect_of(ranks_[at(to)], static_cast<int>(live.key.lane), 2);
    if (path.connection != CallPlan::kCopied) traffic_.expect_capacities(path.connection);
  }
  for (const int i : {path.from, path.to}) {
    const int device = s_.devices[at(live.plan->members.rank_of(i))];
    if (nearness == 1 && at(device) < processors_.size()) prefetch(&processors_[at(device)]);
  }
}

}  // namespace orrery::sim
