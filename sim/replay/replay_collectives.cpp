// Collectives as messages under way.
#include <algorithm>

#include "sim/replay/replayer.hpp"

namespace orrery::sim {

/// A rank's lane comes to the call at its cursor.
void Replayer::come(int r, int l) {
  Rank& rank = ranks_[at(r)];
  LaneState& lane = rank.lanes[at(l)];
  const LaneItem& item = rank.schedule().lanes[at(l)][lane.cursor];
  const Call& call = rank.schedule().calls[item.index];
  const std::vector<CallKey> keys = calls_.next(r, call, rank.program->groups[call.group]);
  lane.open = static_cast<int>(keys.size());
  for (const CallKey& key : keys) {
    const int slot = slot_of(key, r, call, rank.schedule().phases[item.phase].in_epoch());
    const Live& live = live_[at(slot)];
    await_messages(r, l, *live.plan);
    live.instance->arrive(live.plan->members.index_of(r), ready_, finished_);
    follow_up(slot);
  }
  if (keys.empty()) complete(r, l);
}

/// The rank waits for its messages of a collective that it has come to.
void Replayer::await_messages(int r, int l, const CallPlan& plan) {
  if (!many_servers_) return;
  const Expansion& expansion = plan.expansion->expansion;
  for (const std::int32_t m : plan.expansion->touching.of(plan.members.index_of(r))) {
    const Message& message = expansion.messages[at(m)];
    const int from = plan.members.rank_of(message.from), to = plan.members.rank_of(message.to);
    ranks_[at(r)].lanes[at(l)].exchange.awaited(external(from, to), +1, network_.now());
  }
}

/// A message begins or ends, for the exchanges of its two ranks.
void Replayer::count(const Live& live, const Message& message, int under_way, int awaited) {
  if (!many_servers_) return;
  const int from = live.plan->members.rank_of(message.from),
            to = live.plan->members.rank_of(message.to);
  const bool outside = external(from, to);
  for (const int r : {from, to}) {
    ExchangeTime& time = ranks_[at(r)].lanes[at(static_cast<int>(live.key.lane))].exchange;
    time.under_way(outside, under_way, network_.now());
    time.awaited(outside, awaited, network_.now());
  }
}

int Replayer::slot_of(const CallKey& key, int r, const Call& call, bool counted) {
  const auto [found, is_new] = slots_.try_emplace(key, 0);
  if (!is_new) return found->second;
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<int>(live_.size()));
    live_.emplace_back();
  }
  const int slot = found->second = free_slots_.back();
  free_slots_.pop_back();
  auto plan = calls_.plan(key, r, call);
  auto instance =
      std::make_unique<Instance>(plan->expansion, plan->members.size, s_.library.name == "threads");
  messages_ += static_cast<std::int64_t>(plan->expansion->expansion.messages.size());
  calls_.count(*plan);
  live_[at(slot)] = {key, std::move(plan), std::move(instance), counted};
  return slot;
}

/// Starts the messages that are ready and lets the ranks go that are done.
void Replayer::follow_up(int slot) {
  const std::vector<int> ready = std::exchange(ready_, {});
  const std::vector<int> finished = std::exchange(finished_, {});
  for (const int m : ready) start(slot, m);
  if (finished.empty()) return;
  Live& live = live_[at(slot)];
  const auto plan = live.plan;
  const int lane = static_cast<int>(live.key.lane);
  if (live.instance->over()) {
    slots_.erase(live.key);
    live = {};
    free_slots_.push_back(slot);
  }
  for (const int i : finished) {
    const int r = plan->members.rank_of(i);
    if (--ranks_[at(r)].lanes[at(lane)].open == 0) complete(r, lane);
  }
}

Replayer::Ends Replayer::ends(const Live& live, int m) const {
  const Message& message = live.instance->message(m);
  return {ranks_[at(live.plan->members.rank_of(message.from))].device,
          ranks_[at(live.plan->members.rank_of(message.to))].device, live.plan->connections[at(m)]};
}

void Replayer::start(int slot, int m) {
  Live& live = live_[at(slot)];
  const Message& message = live.instance->message(m);
  Instance::State& state = live.instance->state(m);
  const Ends e = ends(live, m);
  count(live, message, +1, -1);
  state.parts = 1;
  if (e.by_copy()) {
    processors_[at(e.to)].start(latency(e) + message.bytes / rate(e), 1,
                                token(Happening::core, slot, m));
  } else {
    const double core = message.bytes * s_.library.core_seconds_per_byte;
    if (core > 0) {
      state.parts = 3;
      for (const int device : {e.from, e.to})
        start_on_core(device, core, token(Happening::core, slot, m));
    }
    processors_[at(e.from)].communicates(+1);
    processors_[at(e.to)].communicates(+1);
    if (live.counted) traffic_.begin(e.connection, message.bytes, network_.now());
    network_.send(e.connection, message.bytes, latency(e), token(Happening::arrival, slot, m));
  }
  for (const std::int32_t next : live.instance->streamers(m)) {
    const double first_chunk = std::min(live.instance->message(next).chunk, message.bytes);
    network_.at(network_.now() + latency(e) + first_chunk / rate(e),
                token(Happening::stream, slot, next));
  }
}

void Replayer::arrived(int slot, int m) {
  Live& live = live_[at(slot)];
  const Ends e = ends(live, m);
  processors_[at(e.from)].communicates(-1);
  processors_[at(e.to)].communicates(-1);
  if (live.counted) traffic_.end(e.connection, network_.now());
  part_ended(slot, m);
}

void Replayer::part_ended(int slot, int m) {
  Live& live = live_[at(slot)];
  Instance::State& state = live.instance->state(m);
  if (--state.parts > 0) return;
  double earliest = 0;
  for (const std::int32_t source : live.instance->sources(m)) {
    const Instance::State& from = live.instance->state(source);
    if (!from.ended) {
      state.held = true;
      return;
    }
    earliest = std::max(earliest, from.ended_at + last_chunk_seconds(live, m));
  }
  if (earliest > network_.now()) {
    network_.at(earliest, token(Happening::release, slot, m));
    return;
  }
  add_up(slot, m);
}

/// What the last chunk of a streamed message still takes when it has come in.
double Replayer::last_chunk_seconds(const Live& live, int m) const {
  const Message& message = live.instance->message(m);
  const Ends e = ends(live, m);
  return latency(e) + std::min(message.chunk, message.bytes) / rate(e);
}

void Replayer::add_up(int slot, int m) {
  const Live& live = live_[at(slot)];
  const Message& message = live.instance->message(m);
  if (message.reduced > 0 && s_.library.reduce_bytes_per_second > 0)
    processors_[at(ends(live, m).to)].start(message.reduced / s_.library.reduce_bytes_per_second, 1,
                                            token(Happening::sum, slot, m));
  else
    end(slot, m);
}

void Replayer::end(int slot, int m) {
  Live& live = live_[at(slot)];
  live.instance->state(m).ended_at = network_.now();
  count(live, live.instance->message(m), -1, 0);
  live.instance->end(m, ready_, finished_);
  for (const std::int32_t next : live.instance->streamers(m)) {
    const auto ended = [&](std::int32_t source) { return live.instance->state(source).ended; };
    const auto sources = live.instance->sources(next);
    if (live.instance->state(next).held && std::all_of(sources.begin(), sources.end(), ended))
      network_.at(network_.now() + last_chunk_seconds(live, next),
                  token(Happening::release, slot, next));
  }
  follow_up(slot);
}

}  // namespace orrery::sim
