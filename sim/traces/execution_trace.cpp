#include "sim/traces/execution_trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "sim/replay/calls.hpp"

namespace orrery::sim {
namespace {

using Ids = std::vector<std::uint32_t>;

void add(Ids& ids, const Ids& more) {
  ids.insert(ids.end(), more.begin(), more.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

/// Messages that are passed on while they arrive, as chunks.
struct Chunks {
  explicit Chunks(const PreparedExpansion& plan) {
    const auto& messages = plan.expansion.messages;
    first.reserve(messages.size() + 1);
    first.push_back(0);
    for (std::size_t m = 0; m < messages.size(); ++m) {
      double chunk = messages[m].streams >= 0 ? messages[m].chunk : 0;
      for (const std::int32_t next : plan.streamers.of(static_cast<int>(m)))
        chunk = std::max(chunk, messages[at(next)].chunk);
      const double count = chunk > 0 ? std::ceil(messages[m].bytes / chunk) : 1;
      first.push_back(first.back() + static_cast<std::int64_t>(std::max(1.0, count)));
    }
  }
  int of(int m) const { return static_cast<int>(first[at(m + 1)] - first[at(m)]); }
  std::vector<std::int64_t> first;  ///< number of each message's first chunk; at the end, of all
};

/// Builds the nodes of all ranks, one rank after the other.
class TraceBuilder {
 public:
  TraceBuilder(const Simulation& simulation, const TraceOptions& options)
      : s_(simulation), options_(options), book_(simulation) {
    trace_.ranks.resize(at(simulation.ranks()));
  }

  ExecutionTrace build() {
    for (int r = 0; r < s_.ranks(); ++r) add_rank(r);
    require_both_ends();
    return std::move(trace_);
  }

 private:
  /// A lane while its items become nodes. `ends[i]` are the nodes after which its first i items are
  /// done.
  struct LaneNodes {
    std::vector<Ids> ends{Ids{}};
    std::size_t syncs = 0;  ///< items of the host that have been looked at
    std::size_t cursor() const { return ends.size() - 1; }
  };
  using Lanes = std::array<LaneNodes, kLanes>;

  bool kept(const RankSchedule& schedule, const LaneItem& item) const {
    const Phase& phase = schedule.phases[item.phase];
    return phase.in_epoch() && options_.epochs.contains(phase.epoch);
  }

  std::uint32_t node(int rank, TraceNode made, Ids after) {
    made.after = std::move(after);
    auto& nodes = trace_.ranks[at(rank)];
    nodes.push_back(std::move(made));
    return static_cast<std::uint32_t>(nodes.size()) - 1;
  }
  static TraceNode computation(Lane lane, std::string_view name, double seconds) {
    TraceNode made;
    made.lane = lane;
    made.name = name;
    made.seconds = seconds;
    return made;
  }
  static TraceNode message(bool sends, Lane lane, std::string_view name, int peer, int tag,
                           std::int64_t bytes) {
    TraceNode made;
    made.type = sends ? TraceNode::Type::send : TraceNode::Type::receive;
    made.lane = lane;
    made.name = name;
    made.peer = peer;
    made.tag = tag;
    made.bytes = bytes;
    return made;
  }

  int take_tags(std::int64_t count) {
    if (tags_ + count > std::numeric_limits<int>::max())
      throw Error("the trace would have more than 2^31 messages: trace fewer epochs");
    return static_cast<int>(std::exchange(tags_, tags_ + count));
  }

  void add_rank(int r) {
    const RankSchedule& schedule = *s_.programs[at(r)].schedule;
    Lanes lanes;
    for (bool moved = true; moved;) {
      moved = false;
      for (int l = 0; l < kLanes; ++l)
        while (add_item(r, l, lanes)) moved = true;
    }
    for (int l = 0; l < kLanes; ++l)
      if (lanes[at(l)].cursor() < schedule.lanes[at(l)].size())
        throw ProgramError(
            r, lanes[at(l)].cursor(),
            fmt::format("lane {} waits for itself for ever", name_of(static_cast<Lane>(l))));
  }

  /// Adds the next item of a lane. False if there is none, or it waits for an item that has not
  /// been added.
  bool add_item(int r, int l, Lanes& lanes) {
    const RankSchedule& schedule = *s_.programs[at(r)].schedule;
    LaneNodes& lane = lanes[at(l)];
    if (lane.cursor() >= schedule.lanes[at(l)].size()) return false;
    const LaneItem& item = schedule.lanes[at(l)][lane.cursor()];
    const auto done = [&](Lane other, std::uint32_t position) {
      return lanes[at(static_cast<int>(other))].cursor() >= position;
    };
    // What the host read back before it issued this item.
    std::size_t syncs = lane.syncs;
    for (;
         syncs < schedule.host.size() && schedule.host[syncs].issued.submits < item.issued.submits;
         ++syncs) {
      const HostItem& host = schedule.host[syncs];
      if (host.type == HostItem::Type::sync && !done(host.lane, host.index)) return false;
    }
    if (item.type == LaneItem::Type::wait && !done(item.waits_for, item.index)) return false;
    Ids after = lane.ends.back();
    const auto wait_for = [&](Lane other, std::uint32_t position) {
      add(after, lanes[at(static_cast<int>(other))].ends[position]);
    };
    for (; lane.syncs < syncs; ++lane.syncs) {
      const HostItem& host = schedule.host[lane.syncs];
      if (host.type == HostItem::Type::sync) wait_for(host.lane, host.index);
    }
    if (item.type == LaneItem::Type::wait) wait_for(item.waits_for, item.index);
    lane.ends.push_back(nodes_of(r, static_cast<Lane>(l), item, std::move(after)));
    return true;
  }

  /// The last nodes of an item, or `after` if it has none.
  Ids nodes_of(int r, Lane lane, const LaneItem& item, Ids after) {
    const RankSchedule& schedule = *s_.programs[at(r)].schedule;
    switch (item.type) {
      case LaneItem::Type::wait:
      case LaneItem::Type::nothing:
        return after;
      case LaneItem::Type::work:
      case LaneItem::Type::task: {
        if (!kept(schedule, item)) return after;
        const Work& work = schedule.works[item.index];
        TraceNode made = computation(lane, schedule.kinds[work.kind], work.seconds);
        made.flops = work.flops;
        made.bytes = std::llround(work.bytes);
        return {node(r, std::move(made), std::move(after))};
      }
      case LaneItem::Type::call:
        return call(r, lane, schedule.calls[item.index], kept(schedule, item), std::move(after));
      case LaneItem::Type::access:
        if (!kept(schedule, item)) return after;
        return access(r, lane, schedule.accesses[item.index], std::move(after));
    }
    return after;
  }

  /// A call that is not kept is counted all the same: the others' calls are told apart by it.
  Ids call(int r, Lane lane, const Call& call, bool kept, Ids after) {
    const PricedProgram& program = s_.programs[at(r)];
    const std::string name(program.schedule->kinds[call.kind]);
    Ids ends;
    for (const CallKey& key : book_.next(r, call, program.groups[call.group])) {
      if (!kept) continue;
      const auto plan = book_.plan(key, r, call);
      if (options_.whole_collectives && whole(*program.schedule, call))
        ends.push_back(
            whole_collective(r, lane, name, *program.schedule, call, plan->members, after));
      else
        add(ends, messages(r, lane, name, key, *plan, after));
    }
    if (ends.empty()) return after;
    if (ends.size() == 1) return ends;
    return {node(r, computation(lane, name + " ends", 0), std::move(ends))};
  }

  /// Whether all ranks have equal parts in a collective that every reader knows.
  static bool whole(const RankSchedule& schedule, const Call& call) {
    if (call.what == CollectiveKind::all_reduce) return true;
    if (call.what != CollectiveKind::all_gather && call.what != CollectiveKind::reduce_scatter)
      return false;
    if (call.parts == Call::kNoParts) return true;
    const auto& parts = schedule.parts[call.parts];
    return std::all_of(parts.begin(), parts.end(), [&](double p) { return p == parts.front(); });
  }

  std::uint32_t whole_collective(int r, Lane lane, const std::string& name,
                                 const RankSchedule& schedule, const Call& call,
                                 const Group& members, const Ids& after) {
    std::vector<int> ranks;
    for (int i = 0; i < members.size; ++i) ranks.push_back(members.rank_of(i));
    const auto found = groups_.try_emplace(ranks, static_cast<int>(trace_.groups.size()));
    if (found.second) trace_.groups.push_back(ranks);
    double bytes = call.bytes;
    if (call.what != CollectiveKind::all_reduce) {
      const double slice =
          call.parts == Call::kNoParts ? call.bytes : schedule.parts[call.parts].front();
      bytes = call.what == CollectiveKind::all_gather ? slice : slice * members.size;
    }
    TraceNode made = computation(lane, name, 0);
    made.type = TraceNode::Type::collective;
    made.collective = call.what;
    made.group = found.first->second;
    made.bytes = std::llround(bytes);
    return node(r, std::move(made), after);
  }

  /// For each message of this rank, the end of each of its chunks here.
  using Arrivals = std::unordered_map<int, Ids>;

  const Chunks& chunks_of(const std::shared_ptr<const PreparedExpansion>& plan) {
    const auto found = chunks_.find(plan.get());
    if (found != chunks_.end()) return found->second.second;
    return chunks_.emplace(plan.get(), std::pair{plan, Chunks(*plan)}).first->second.second;
  }

  /// A rank's part in a collective. Returns the nodes that nothing of it comes after.
  Ids messages(int r, Lane lane, const std::string& name, const CallKey& key, const CallPlan& plan,
               const Ids& after) {
    const Expansion& expansion = plan.expansion->expansion;
    const Chunks& chunks = chunks_of(plan.expansion);
    const auto [known, is_new] = first_tags_.try_emplace(key, 0);
    if (is_new) known->second = take_tags(chunks.first.back());
    const int i = plan.members.index_of(r);
    Arrivals arrived;
    Ids ends;
    for (const std::int32_t m : plan.expansion->touching.of(i)) {
      const Message& message = expansion.messages[at(m)];
      const int count = chunks.of(m);
      const auto tag = [&](int k) {
        return static_cast<int>(known->second + chunks.first[at(m)] + k);
      };
      const auto bytes = [&](int k) {
        return std::llround(message.bytes * (k + 1) / count) -
               std::llround(message.bytes * k / count);
      };
      Ids& own = arrived[m];
      std::uint32_t last = 0;
      if (message.from == i) {
        for (int k = 0; k < count; ++k) {
          Ids waits = k == 0 ? waits_of(expansion, message, arrived, after) : Ids{last};
          add(waits, streamed_of(expansion, message, arrived, k, count));
          last = node(
              r,
              this->message(true, lane, name, plan.members.rank_of(message.to), tag(k), bytes(k)),
              std::move(waits));
          own.push_back(last);
        }
      } else {
        for (int k = 0; k < count; ++k) {
          last = node(r,
                      this->message(false, lane, name, plan.members.rank_of(message.from), tag(k),
                                    bytes(k)),
                      k == 0 ? after : Ids{last});
          own.push_back(last);
          if (message.reduced <= 0 || !s_.library.reduce_bytes_per_second.known()) continue;
          Ids comes{last};  // and the chunk before it has been added
          if (k > 0) add(comes, {own[at(k - 1)]});
          const double seconds =
              message.reduced / s_.library.reduce_bytes_per_second.of(message.reduced) / count;
          own.back() = node(r, computation(lane, name + " adds", seconds), std::move(comes));
        }
      }
      ends.push_back(own.back());
    }
    std::sort(ends.begin(), ends.end());
    return ends;
  }

  /// What the first chunk of a message waits for.
  static Ids waits_of(const Expansion& expansion, const Message& message, const Arrivals& arrived,
                      const Ids& after) {
    Ids waits = after;
    for (int w = message.first_wait;
         w < message.first_wait + message.waits - message.streamed_waits; ++w)
      add_arrival(waits, arrived, expansion.waits[at(w)], 1, 1);
    return waits;
  }

  /// What chunk k of `count` passes on.
  static Ids streamed_of(const Expansion& expansion, const Message& message,
                         const Arrivals& arrived, int k, int count) {
    Ids waits;
    if (message.streams >= 0) add_arrival(waits, arrived, message.streams, k + 1, count);
    for (int w = message.first_wait + message.waits - message.streamed_waits;
         w < message.first_wait + message.waits; ++w)
      add_arrival(waits, arrived, expansion.waits[at(w)], k + 1, count);
    return waits;
  }

  /// Waits for the first `part` of `parts` of a message, if this rank is one of its ends.
  static void add_arrival(Ids& waits, const Arrivals& arrived, int m, int part, int parts) {
    const auto found = arrived.find(m);
    if (found == arrived.end()) return;
    const auto count = static_cast<std::int64_t>(found->second.size());
    add(waits, {found->second[at((part * count + parts - 1) / parts - 1)]});
  }

  Ids access(int r, Lane lane, const StoreAccess& access, Ids after) {
    const PricedProgram& program = s_.programs[at(r)];
    const std::string name(program.schedule->kinds[access.kind]);
    Ids ends;
    for_each_owner(
        *program.schedule, access, program.groups, [&](int owner, double rows, double seconds) {
          ends.push_back(owner == r ? node(r, computation(lane, "serve", seconds), after)
                                    : ask(r, lane, name, owner, access, rows, seconds, after));
        });
    if (ends.empty()) return after;
    std::sort(ends.begin(), ends.end());
    if (ends.size() == 1) return ends;
    return {node(r, computation(lane, name + " ends", 0), std::move(ends))};
  }

  /// A request to an owner of rows, which serves it whatever its lanes do. Which request it serves
  /// first is for the reader to find: they share the lane "store".
  std::uint32_t ask(int r, Lane lane, const std::string& name, int owner, const StoreAccess& access,
                    double rows, double seconds, const Ids& after) {
    const int tag = take_tags(2);
    const std::int64_t there = std::llround(access.asked(rows)),
                       back = std::llround(access.answered(rows));
    const std::uint32_t asked = node(r, message(true, lane, name, owner, tag, there), after);
    const std::uint32_t come = node(owner, message(false, Lane::store, name, r, tag, there), {});
    const std::uint32_t served = node(owner, computation(Lane::store, "serve", seconds), {come});
    node(owner, message(true, Lane::store, name, r, tag + 1, back), {served});
    return node(r, message(false, lane, name, owner, tag + 1, back), {asked});
  }

  /// Every send has its receive.
  void require_both_ends() const {
    std::unordered_map<int, int> open;  // tag: rank of the end that has been seen
    for (std::size_t r = 0; r < trace_.ranks.size(); ++r)
      for (const TraceNode& node : trace_.ranks[r]) {
        if (node.type != TraceNode::Type::send && node.type != TraceNode::Type::receive) continue;
        if (open.erase(node.tag) == 0) open.emplace(node.tag, static_cast<int>(r));
      }
    if (open.empty()) return;
    throw Error(fmt::format(
        "rank {} is one end of a message whose other end is in another epoch: trace more epochs",
        open.begin()->second));
  }

  const Simulation& s_;
  const TraceOptions& options_;
  CallBook book_;
  ExecutionTrace trace_;
  std::int64_t tags_ = 0;
  std::unordered_map<CallKey, std::int64_t, CallKeyHash> first_tags_;
  std::map<std::vector<int>, int> groups_;
  /// Plans are kept, so that an address stands for one.
  std::unordered_map<const PreparedExpansion*,
                     std::pair<std::shared_ptr<const PreparedExpansion>, Chunks>>
      chunks_;
};

}  // namespace

ExecutionTrace trace_of(const Simulation& simulation, const TraceOptions& options) {
  return TraceBuilder(simulation, options).build();
}

TraceSums sums_of(const ExecutionTrace& trace) {
  TraceSums sums;
  for (const auto& rank : trace.ranks) {
    double seconds = 0;
    for (const TraceNode& node : rank) {
      ++sums.nodes;
      sums.collectives += node.type == TraceNode::Type::collective ? 1 : 0;
      if (node.type == TraceNode::Type::compute) seconds += node.seconds;
      if (node.type != TraceNode::Type::send) continue;
      ++sums.messages;
      sums.message_bytes += node.bytes;
    }
    sums.most_seconds = std::max(sums.most_seconds, seconds);
  }
  return sums;
}

}  // namespace orrery::sim
