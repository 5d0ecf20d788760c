// Collectives as messages under way.
#include <algorithm>

#include "sim/replay/replayer.hpp"

namespace orrery::sim {

/// A rank will come to the call at its lane's cursor. The messages of a collective are told at once
/// when it does, so that each of them needs one timer for all that it waits for.
void Replayer::announce(int r, int l, double time) {
  const Rank& rank = ranks_[at(r)];
  const LaneItem& item = rank.schedule().lanes[at(l)][rank.lanes[at(l)].cursor];
  const Call& call = rank.schedule().calls[item.index];
  if (time > network_.now() && call.what == CollectiveKind::send_recv)
    network_.at(time, token(Happening::call, r, l));
  else
    come(r, l, time);
}

/// A rank's lane comes to the call at its cursor, at this time or later.
void Replayer::come(int r, int l, double time) {
  Rank& rank = ranks_[at(r)];
  LaneState& lane = rank.lanes[at(l)];
  const LaneItem& item = rank.schedule().lanes[at(l)][lane.cursor];
  const Call& call = rank.schedule().calls[item.index];
  const CallKeys keys = calls_.next(r, call, rank.program->groups[call.group]);
  lane.open = static_cast<int>(keys.size());
  for (const CallKey& key : keys) {
    const int slot = slot_of(key, r, call, rank.schedule().phases[item.phase].in_epoch());
    Live& live = live_[at(slot)];
    await_messages(r, l, *live.plan, time);
    const int i = live.plan->members.index_of(r);
    if (time > network_.now() && !live.instance.has_own_messages(i)) {
      network_.at(time, token(Happening::without_messages, slot, i));
      continue;
    }
    live.instance.arrive(i, time, ready_, finished_);
    follow_up(slot);
  }
  if (keys.empty()) complete(r, l);
}

/// The rank waits for its messages of a collective that it has reached.
void Replayer::await_messages(int r, int l, const CallPlan& plan, double time) {
  if (!many_servers_) return;
  const int i = plan.members.index_of(r);
  const auto own = plan.messages.touching.of(i);
  if (own.empty()) return;
  const MessagePlan::Path& first = plan.messages.paths[at(own.front())];
  if (!(first.from == i ? first.divides_from : first.divides_to)) return;
  ExchangeTime& exchange = ranks_[at(r)].lanes[at(l)].exchange_told();
  int inside = 0, between = 0;
  for (const std::int32_t m : own) ++(plan.messages.awaits_external(m) ? between : inside);
  if (inside > 0) exchange.awaited(false, inside, time);
  if (between > 0) exchange.awaited(true, between, time);
}

/// A message moves or no longer does, is awaited or no longer is, for the exchanges of its two ranks.
void Replayer::count(const Live& live, int m, int under_way, int awaited) {
  if (!many_servers_) return;
  const MessagePlan::Path& path = live.instance.path(m);
  for (const int i : {path.from, path.to}) {
    if (!(i == path.from ? path.divides_from : path.divides_to)) continue;
    ExchangeTime& time = ranks_[at(live.plan->members.rank_of(i))]
                             .lanes[at(static_cast<int>(live.key.lane))]
                             .exchange_told();
    if (under_way != 0) time.under_way(path.external, under_way, network_.now());
    if (awaited != 0) time.awaited(live.plan->messages.awaits_external(m), awaited, network_.now());
  }
}

int Replayer::slot_of(const CallKey& key, int r, const Call& call, bool counted) {
  int& recent = recent_slots_[at(key.sequence) % recent_slots_.size()];
  if (at(recent) < live_.size() && live_[at(recent)].plan && live_[at(recent)].key == key)
    return recent;
  return recent = find_slot(key, r, call, counted);
}

int Replayer::find_slot(const CallKey& key, int r, const Call& call, bool counted) {
  const auto [found, is_new] = slots_.try_emplace(key, 0);
  if (!is_new) return found->second;
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<int>(live_.size()));
    live_.emplace_back();
  }
  const int slot = found->second = free_slots_.back();
  free_slots_.pop_back();
  Live& live = live_[at(slot)];
  live.key = key;
  live.counted = counted;
  live.plan = calls_.plan(key, r, call);
  live.instance.begin(live.plan->messages, live.plan->members.size, s_.library.name == "threads");
  messages_ += static_cast<std::int64_t>(live.plan->messages.paths.size());
  calls_.count(*live.plan);
  return slot;
}

/// Starts the messages that are ready, when it is time, and releases the ranks that are done.
void Replayer::follow_up(int slot) {
  Live& live = live_[at(slot)];
  for (std::size_t i = 0; i < ready_.size(); ++i) {  // a start makes more ready
    const int m = ready_[i];
    const double time = live.instance.state(m).time;
    if (time > network_.now())
      network_.at(time, token(Happening::message, slot, m));
    else
      start(slot, m);
  }
  ready_.clear();
  if (finished_.empty()) return;
  const Group members = live.plan->members;
  const int lane = static_cast<int>(live.key.lane);
  if (live.instance.over()) {
    slots_.erase(live.key);
    live.plan.reset();
    free_slots_.push_back(slot);
  }
  for (const int i : finished_) {
    const int r = members.rank_of(i);
    if (--ranks_[at(r)].lanes[at(lane)].open == 0) complete(r, lane);
  }
  finished_.clear();
}

Replayer::Ends Replayer::ends(const Live& live, int m) const {
  const MessagePlan::Path& path = live.instance.path(m);
  return {s_.devices[at(live.plan->members.rank_of(path.from))],
          s_.devices[at(live.plan->members.rank_of(path.to))], path.connection};
}

void Replayer::start(int slot, int m, bool may_wait) {
  Live& live = live_[at(slot)];
  const MessageOrder::Size& message = live.instance.size(m);
  Instance::State& state = live.instance.state(m);
  const Ends e = ends(live, m);
  if (may_wait && !rows_under_way_.empty() && !e.by_copy()) {
    const MessagePlan::Path& path = live.instance.path(m);
    const Group& members = live.plan->members;
    if (waits_behind_rows(members.rank_of(path.from), members.rank_of(path.to),
                          token(Happening::message_behind_rows, slot, m)))
      return;
  }
  count(live, m, +1, -1);
  state.parts = 1;
  if (e.by_copy()) {
    processor_of(e.to).start(latency(e) + message.bytes / rate(e, message.bytes), 1,
                             token(Happening::core, slot, m), kMover);
  } else {
    const double core = message.bytes * s_.library.core_seconds_per_byte;
    if (core > 0) {
      state.parts = 3;
      for (const int device : {e.from, e.to})
        start_on_core(device, core, token(Happening::core, slot, m));
    }
    processor_of(e.from).communicates(+1);
    processor_of(e.to).communicates(+1);
    if (live.counted) traffic_.begin(e.connection, message.bytes, network_.now());
    network_.send(e.connection, message.bytes, latency(e), token(Happening::arrival, slot, m));
  }
  for (const std::int32_t next : live.instance.streamers(m)) {
    const double first_chunk = std::min(live.instance.size(next).chunk, message.bytes);
    live.instance.stream(next, network_.now() + latency(e) + first_chunk / rate(e, first_chunk),
                         ready_);
  }
}

void Replayer::arrived(int slot, int m) {
  Live& live = live_[at(slot)];
  const Ends e = ends(live, m);
  processor_of(e.from).communicates(-1);
  processor_of(e.to).communicates(-1);
  if (live.counted) traffic_.end(e.connection, network_.now());
  part_ended(slot, m);
}

void Replayer::part_ended(int slot, int m) {
  Live& live = live_[at(slot)];
  Instance::State& state = live.instance.state(m);
  if (--state.parts > 0) return;
  double earliest = 0;
  for (const std::int32_t source : live.instance.sources(m)) {
    const Instance::State& from = live.instance.state(source);
    if (!from.ended) {
      state.held = true;
      count(live, m, -1, +1);  // what it passes on is not there
      return;
    }
    earliest = std::max(earliest, from.time + last_chunk_seconds(live, m));
  }
  if (earliest > network_.now()) {
    network_.at(earliest, token(Happening::release, slot, m));
    return;
  }
  add_up(slot, m);
}

/// The remaining time of a streamed message's last chunk after it has come in.
double Replayer::last_chunk_seconds(const Live& live, int m) const {
  const MessageOrder::Size& message = live.instance.size(m);
  const Ends e = ends(live, m);
  const double last_chunk = std::min(message.chunk, message.bytes);
  return latency(e) + last_chunk / rate(e, last_chunk);
}

void Replayer::add_up(int slot, int m) {
  const Live& live = live_[at(slot)];
  const MessageOrder::Size& message = live.instance.size(m);
  const RateBySize& adding = s_.library.reduce_bytes_per_second;
  if (message.reduced > 0 && adding.known())
    processor_of(ends(live, m).to)
        .start(message.reduced / adding.of(message.reduced), 1, token(Happening::sum, slot, m),
               kMover);
  else
    end(slot, m);
}

void Replayer::end(int slot, int m) {
  Live& live = live_[at(slot)];
  const bool held = live.instance.state(m).held;
  count(live, m, held ? 0 : -1, held ? -1 : 0);
  live.instance.end(m, network_.now(), ready_, finished_);
  for (const std::int32_t next : live.instance.streamers(m)) {
    const auto ended = [&](std::int32_t source) { return live.instance.state(source).ended; };
    const auto sources = live.instance.sources(next);
    if (live.instance.state(next).held && std::all_of(sources.begin(), sources.end(), ended))
      network_.at(network_.now() + last_chunk_seconds(live, next),
                  token(Happening::release, slot, next));
  }
  follow_up(slot);
}

}  // namespace orrery::sim
