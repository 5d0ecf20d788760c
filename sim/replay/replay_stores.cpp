// What ranks ask of the owners of rows.
#include "sim/replay/replayer.hpp"

namespace orrery::sim {

void Replayer::ask_owners(int r, int l) {
  Rank& rank = ranks_[at(r)];
  LaneState& lane = rank.lanes[at(l)];
  const RankSchedule& schedule = rank.schedule();
  const LaneItem& item = schedule.lanes[at(l)][lane.cursor];
  const StoreAccess& access = schedule.accesses[item.index];
  const bool counted = schedule.phases[item.phase].in_epoch();
  std::vector<int> slots;
  for_each_owner(schedule, access, rank.program->groups, [&](int owner, double rows, double s) {
    slots.push_back(take_slot());
    asked_[at(slots.back())] = {r,
                                l,
                                owner,
                                owner == r ? Asked::serving : Asked::asking,
                                0,
                                counted,
                                access.asked(rows),
                                access.answered(rows),
                                rows * access.row_bytes,
                                s};
  });
  lane.open = static_cast<int>(slots.size());
  if (slots.empty()) return complete(r, l);
  for (const int slot : slots) start_stage(slot);
}

int Replayer::take_slot() {
  if (free_asked_.empty()) {
    free_asked_.push_back(static_cast<int>(asked_.size()));
    asked_.emplace_back();
  }
  const int slot = free_asked_.back();
  free_asked_.pop_back();
  return slot;
}

void Replayer::start_stage(int slot) {
  Asked& asked = asked_[at(slot)];
  const std::uint64_t part = token(Happening::access_part, slot);
  if (asked.stage == Asked::serving) {
    const Rank& owner = ranks_[at(asked.owner)];
    asked.parts = host_of(owner).start(asked.serving_seconds, 1, asked.bytes, part);
    return follow(owner.works_at);
  }
  ++messages_;
  const auto [from, to] = ends_of(asked);
  if (from == to) {
    asked.parts = 1;
    network_.at(network_.now() + s_.library.message_seconds, part);
    return;
  }
  const double bytes = asked.stage == Asked::asking ? asked.there : asked.back;
  const double core = bytes * s_.library.core_seconds_per_byte;
  asked.parts = core > 0 ? 3 : 1;
  for (const int r : {asked.rank, asked.owner}) {
    if (core > 0) start_on_core(ranks_[at(r)].device, core, part);
    communicates(r, +1);
  }
  if (asked.counted) traffic_.begin({from, to}, bytes, network_.now());
  network_.send(from, to, bytes, s_.library.message_seconds + traffic_.latency_seconds({from, to}),
                token(Happening::access_arrival, slot));
}

/// Of the message of its stage.
Traffic::Pair Replayer::ends_of(const Asked& asked) const {
  const int asker = ranks_[at(asked.rank)].memory_end, owner = ranks_[at(asked.owner)].memory_end;
  return asked.stage == Asked::asking ? Traffic::Pair{asker, owner} : Traffic::Pair{owner, asker};
}

/// A message of rows begins (+1) or ends (−1) at a rank: a device that has a host is not part of
/// it.
void Replayer::communicates(int r, int change) {
  if (!hosts_beside_) processors_[at(ranks_[at(r)].device)].communicates(change);
}

void Replayer::access_arrived(int slot) {
  const Asked& asked = asked_[at(slot)];
  for (const int r : {asked.rank, asked.owner}) communicates(r, -1);
  if (asked.counted) traffic_.end(ends_of(asked), network_.now());
  access_part_ended(slot);
}

void Replayer::access_part_ended(int slot) {
  Asked& asked = asked_[at(slot)];
  if (--asked.parts > 0) return;
  if (asked.stage == Asked::asking) {
    asked.stage = Asked::serving;
    return start_stage(slot);
  }
  if (asked.stage == Asked::serving && asked.owner != asked.rank) {
    asked.stage = Asked::answering;
    return start_stage(slot);
  }
  const int r = asked.rank, l = asked.lane;
  free_asked_.push_back(slot);
  if (--ranks_[at(r)].lanes[at(l)].open == 0) complete(r, l);
}

}  // namespace orrery::sim
