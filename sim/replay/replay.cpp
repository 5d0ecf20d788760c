#include "sim/replay/replay.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/tell.hpp"
#include "core/base/units.hpp"
#include "core/cluster/placement.hpp"
#include "sim/replay/calls.hpp"
#include "sim/replay/host.hpp"
#include "sim/replay/processor.hpp"
#include "sim/replay/rank_trace.hpp"

namespace orrery::sim {
namespace {

/// What a token of the network stands for: a type and two numbers.
enum class Happening : std::uint64_t {
  processor,
  host_cores,
  host_memory,
  lane,
  issue,
  work,
  task,
  call,
  arrival,
  core,
  stream,
  release,
  sum,
  access_arrival,
  access_part
};
constexpr double kClockError = 1e-12;  // seconds, of the network's clock
constexpr int kBits = 28;
constexpr std::uint64_t token(Happening what, std::int64_t a, std::int64_t b = 0) {
  return static_cast<std::uint64_t>(what) << (2 * kBits) | static_cast<std::uint64_t>(a) << kBits |
         static_cast<std::uint64_t>(b);
}

class Replayer final : public NetworkListener {
 public:
  Replayer(const Simulation& simulation, Traffic& traffic, Interconnect& network)
      : s_(simulation),
        traffic_(traffic),
        network_(network),
        calls_(simulation),
        began_(std::chrono::steady_clock::now()) {
    for (std::size_t d = 0; d < s_.cluster.devices.size(); ++d)
      processors_.emplace_back(network, s_.cluster.cores_of(static_cast<int>(d)),
                               s_.behaviour.communication_slowdown,
                               token(Happening::processor, static_cast<std::int64_t>(d)));
    make_hosts();
    std::map<int, int> on_server;
    for (int r = 0; r < s_.ranks(); ++r) {
      Rank rank;
      rank.program = &s_.programs[at(r)];
      rank.device = s_.devices[at(r)];
      rank.works_at = s_.cluster.has_hosts() ? s_.cluster.server_of(rank.device) : rank.device;
      rank.place = on_server[s_.cluster.server_of(rank.device)]++;
      ranks_.push_back(std::move(rank));
    }
    for (Rank& rank : ranks_)
      rank.sharers =
          s_.hosts == Hosts::per_server ? on_server[s_.cluster.server_of(rank.device)] : 1;
    for (const Rank& rank : ranks_) require_host(rank);
  }

  Replay run() {
    for (int r = 0; r < s_.ranks(); ++r) proceed(r);
    work_off();
    network_.run(*this);
    require_finished();
    settle_marks();
    return result();
  }

  void on_timer(std::uint64_t token) override {
    happen(token);
    work_off();
  }
  void on_arrival(std::uint64_t token) override {
    happen(token);
    work_off();
  }

 private:
  struct LaneState {
    std::uint32_t cursor = 0;  ///< items before it are done
    bool busy = false;         ///< the item at the cursor runs
    int open = 0;              ///< parts of the running task; collectives that it belongs to
    bool blocked = true;       ///< it had to wait for something
    double not_before = 0;     ///< hand-over
    double wake_at = -1;       ///< a timer was set for then
    double begin = 0;
  };
  struct Rank {
    const PricedProgram* program = nullptr;
    int device = 0, place = 0, sharers = 1;
    int works_at = 0;  ///< in hosts_
    std::array<LaneState, kLanes> lanes;
    std::size_t host = 0;  ///< next item of the host
    Issued issued;         ///< what the host has come to
    Issued first;          ///< before it last went on
    double base = 0;       ///< when it last went on, by its clock
    bool host_blocked = false;
    bool issuing = false;  ///< on a core of its host
    RankTrace trace;
    const RankSchedule& schedule() const { return *program->schedule; }
  };
  struct Live {
    CallKey key;
    std::shared_ptr<const CallPlan> plan;
    std::unique_ptr<Instance> instance;
    bool counted = false;  ///< in an epoch
  };

  // ---- hosts -----------------------------------------------------------------------------------

  void make_hosts() {
    const ServerHost& said = s_.cluster.host;
    const bool beside = s_.cluster.has_hosts();
    const int count = beside ? s_.cluster.servers() : static_cast<int>(processors_.size());
    for (int h = 0; h < count; ++h) {
      const std::uint64_t cores = token(Happening::host_cores, h),
                          memory = token(Happening::host_memory, h);
      if (beside)
        hosts_.emplace_back(network_, said.cores, said.memory_bytes_per_second, cores, memory);
      else
        hosts_.emplace_back(network_, processors_[at(h)], s_.cluster.cores_of(h),
                            s_.cluster.devices[at(h)].memory_bytes_per_second, memory);
    }
  }
  Host& host_of(const Rank& rank) { return hosts_[at(rank.works_at)]; }
  const HostClock& clock_of(const Rank& rank) const { return hosts_[at(rank.works_at)].clock(); }

  /// The cluster says all that the rank's host tasks need, and those who serve it rows.
  void require_host(const Rank& rank) {
    const RankSchedule& schedule = rank.schedule();
    const Host& host = host_of(rank);
    bool tasks = false, bytes = false;
    for (const auto& lane : schedule.lanes)
      for (const LaneItem& item : lane)
        if (item.type == LaneItem::Type::task) {
          tasks = true;
          bytes = bytes || schedule.works[item.index].bytes > 0;
        }
    for (const StoreAccess& access : schedule.accesses)
      for_each_owner(schedule, access, rank.program->groups,
                     [&](int, double, double) { tasks = bytes = true; });
    const char* missing = tasks && !host.has_cores()    ? "server.host_cores"
                          : bytes && !host.has_memory() ? "server.host_memory_bytes_per_second"
                                                        : nullptr;
    if (missing != nullptr)
      throw ConfigError(missing, fmt::format("the program has tasks for the host, and the cluster "
                                             "file of {} does not say this of its hosts: add it",
                                             s_.cluster.name));
  }

  /// After anything began or ended on a host's cores. Where they became faster, what is to be issued
  /// comes earlier than was asked for.
  void follow(Host& host) {
    if (!host.follow(network_.now())) return;
    for (int r = 0; r < s_.ranks(); ++r)
      if (&host_of(ranks_[at(r)]) == &host)
        for (int lane = 0; lane < kLanes; ++lane) wake(r, lane);
  }

  /// Takes a core of the host until it has issued what it has come to. Of a host that serves all
  /// ranks of a server, the first one's.
  void issue(int r) {
    Rank& rank = ranks_[at(r)];
    Host& host = host_of(rank);
    if (rank.issuing || !host.issues() || (rank.sharers > 1 && rank.place > 0)) return;
    const double left = host_time(rank, rank.issued) - host.clock().work_at(network_.now());
    if (left < kClockError) return;
    rank.issuing = true;
    host.cores().start(left, 1, token(Happening::issue, r));
    follow(host);
  }

  /// Marks were made by the clocks of hosts: to the time.
  void settle_marks() {
    for (Rank& rank : ranks_) {
      const HostClock& clock = clock_of(rank);
      for (Timeline::Mark& mark : rank.trace.marks) mark.at = clock.time_of(mark.at);
      for (Timeline::MemoryMark& mark : rank.trace.memory) mark.at = clock.time_of(mark.at);
    }
  }

  // ---- what hosts issue ------------------------------------------------------------------------

  /// When, by its clock, the rank's host comes to a point with so much issued before it. Where one
  /// host serves several ranks it goes round: a rank's submit comes after those of all ranks before
  /// it, and after its own place in the round.
  double host_time(const Rank& rank, const Issued& until) const {
    if (until.submits <= rank.first.submits) return rank.base;
    const double calls = until.calls - rank.first.calls;
    const double others = until.submits - rank.first.submits - calls;
    const double own = others * s_.behaviour.issue_seconds + calls * s_.library.issue_seconds;
    const int after = rank.sharers - 1 - rank.place;  // in the last round
    return rank.base + own * rank.sharers -
           (rank.sharers > 1 ? after : 0) * s_.behaviour.issue_seconds;
  }

  /// The host goes on until it waits for something that has not passed.
  void proceed(int r) {
    Rank& rank = ranks_[at(r)];
    const RankSchedule& schedule = rank.schedule();
    rank.host_blocked = false;
    for (; rank.host < schedule.host.size(); ++rank.host) {
      const HostItem& item = schedule.host[rank.host];
      if (item.type == HostItem::Type::phase) {
        rank.trace.marks.push_back({schedule.phases[item.index], host_time(rank, item.issued)});
        continue;
      }
      if (item.type == HostItem::Type::memory) {
        rank.trace.memory.push_back(
            {host_time(rank, item.issued), schedule.device_bytes[item.index]});
        continue;
      }
      rank.issued = item.issued;
      if (rank.lanes[at(static_cast<int>(item.lane))].cursor < item.index) {
        rank.host_blocked = true;
        break;
      }
    }
    if (!rank.host_blocked) rank.issued = schedule.issued;
    issue(r);
    for (int lane = 0; lane < kLanes; ++lane) wake(r, lane);
  }

  /// What the host waits for may have passed.
  void wake_host(int r, int lane) {
    Rank& rank = ranks_[at(r)];
    if (!rank.host_blocked) return;
    const HostItem& item = rank.schedule().host[rank.host];
    if (static_cast<int>(item.lane) != lane || rank.lanes[at(lane)].cursor < item.index) return;
    const double now = clock_of(rank).work_at(network_.now());
    rank.base = std::max(host_time(rank, item.issued), now) + s_.behaviour.sync_seconds;
    rank.first = item.issued;
    ++rank.host;
    proceed(r);
  }

  // ---- lanes -----------------------------------------------------------------------------------

  void wake(int r, int lane) { to_do_.emplace_back(r, lane); }

  void work_off() {
    while (!to_do_.empty()) {
      const auto [r, lane] = to_do_.front();
      to_do_.pop_front();
      advance(r, lane);
    }
  }

  /// Starts what the lane can start now.
  void advance(int r, int l) {
    Rank& rank = ranks_[at(r)];
    LaneState& lane = rank.lanes[at(l)];
    const RankSchedule& schedule = rank.schedule();
    const auto& items = schedule.lanes[at(l)];
    while (!lane.busy && lane.cursor < items.size()) {
      const LaneItem& item = items[lane.cursor];
      if (!may_start(rank, item, lane, r, l)) return;
      switch (item.type) {
        case LaneItem::Type::wait:
        case LaneItem::Type::nothing:
          pass(r, l);
          break;
        case LaneItem::Type::work: {
          const Work& work = schedule.works[item.index];
          begin(lane);
          processors_[at(rank.device)].start(work.seconds, work.threads,
                                             token(Happening::work, r, l));
          break;
        }
        case LaneItem::Type::task: {
          const Work& task = schedule.works[item.index];
          begin(lane);
          lane.open = host_of(rank).start(task.seconds, task.threads, task.bytes,
                                          token(Happening::task, r, l));
          follow(host_of(rank));
          break;
        }
        case LaneItem::Type::call:
          begin(lane);
          if (s_.library.collective_seconds > 0)
            network_.at(network_.now() + s_.library.collective_seconds,
                        token(Happening::call, r, l));
          else
            come(r, l);
          break;
        case LaneItem::Type::access:
          begin(lane);
          ask_owners(r, l);
          break;
      }
    }
  }

  bool may_start(const Rank& rank, const LaneItem& item, LaneState& lane, int r, int l) {
    const double now = network_.now();
    const bool waits = item.type == LaneItem::Type::wait &&
                       rank.lanes[at(static_cast<int>(item.waits_for))].cursor < item.index;
    if (item.issued.submits > rank.issued.submits ||
        waits) {  // the host or the other lane will wake this one
      lane.blocked = true;
      return false;
    }
    // What was submitted before the host last went on, it has issued long ago.
    const double issued_at = item.issued.submits > rank.first.submits
                                 ? clock_of(rank).time_of(host_time(rank, item.issued))
                                 : now;
    if (issued_at > now) {
      lane.blocked = true;
      return later(lane, r, l, issued_at);
    }
    if (item.type == LaneItem::Type::wait || item.type == LaneItem::Type::nothing) return true;
    if (std::exchange(lane.blocked, false)) lane.not_before = now + s_.behaviour.handover_seconds;
    return lane.not_before <= now || later(lane, r, l, lane.not_before);
  }

  /// Asks for a wake-up, once.
  bool later(LaneState& lane, int r, int l, double time) {
    if (lane.wake_at != time) network_.at(time, token(Happening::lane, r, l));
    lane.wake_at = time;
    return false;
  }

  void begin(LaneState& lane) {
    lane.busy = true;
    lane.begin = network_.now();
    ++operations_;
  }

  /// The running item has ended.
  void complete(int r, int l) {
    Rank& rank = ranks_[at(r)];
    LaneState& lane = rank.lanes[at(l)];
    rank.trace.done[at(l)].push_back({lane.cursor, lane.begin, network_.now()});
    lane.busy = false;
    pass(r, l);
    wake(r, l);
  }

  /// The item at the cursor is done: others may wait for it.
  void pass(int r, int l) {
    Rank& rank = ranks_[at(r)];
    ++rank.lanes[at(l)].cursor;
    for (int other = 0; other < kLanes; ++other) {
      if (other == l) continue;
      const LaneState& waiting = rank.lanes[at(other)];
      const auto& items = rank.schedule().lanes[at(other)];
      if (waiting.busy || waiting.cursor >= items.size()) continue;
      const LaneItem& item = items[waiting.cursor];
      if (item.type == LaneItem::Type::wait && static_cast<int>(item.waits_for) == l)
        wake(r, other);
    }
    wake_host(r, l);
  }

  // ---- collectives -----------------------------------------------------------------------------

  /// A rank's lane comes to the call at its cursor.
  void come(int r, int l) {
    Rank& rank = ranks_[at(r)];
    LaneState& lane = rank.lanes[at(l)];
    const LaneItem& item = rank.schedule().lanes[at(l)][lane.cursor];
    const Call& call = rank.schedule().calls[item.index];
    const std::vector<CallKey> keys = calls_.next(r, call, rank.program->groups[call.group]);
    lane.open = static_cast<int>(keys.size());
    for (const CallKey& key : keys) {
      const int slot = slot_of(key, r, call, rank.schedule().phases[item.phase].in_epoch());
      const Live& live = live_[at(slot)];
      live.instance->arrive(live.plan->members.index_of(r), ready_, finished_);
      follow_up(slot);
    }
    if (keys.empty()) complete(r, l);
  }

  int slot_of(const CallKey& key, int r, const Call& call, bool counted) {
    const auto [found, is_new] = slots_.try_emplace(key, 0);
    if (!is_new) return found->second;
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<int>(live_.size()));
      live_.emplace_back();
    }
    const int slot = found->second = free_slots_.back();
    free_slots_.pop_back();
    auto plan = calls_.plan(key, r, call);
    auto instance = std::make_unique<Instance>(plan->expansion, plan->members.size,
                                               s_.library.name == "threads");
    messages_ += static_cast<std::int64_t>(plan->expansion->expansion.messages.size());
    calls_.count(*plan);
    live_[at(slot)] = {key, std::move(plan), std::move(instance), counted};
    return slot;
  }

  /// Starts the messages that are ready and lets the ranks go that are done.
  void follow_up(int slot) {
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

  struct Ends {
    Traffic::Pair devices;
    bool by_copy;
  };
  Ends ends(const Live& live, const Message& m) const {
    const int from = ranks_[at(live.plan->members.rank_of(m.from))].device;
    const int to = ranks_[at(live.plan->members.rank_of(m.to))].device;
    return {{from, to}, copied(s_, from, to)};
  }
  double latency(const Ends& e) const {
    return s_.library.message_seconds + (e.by_copy ? 0 : traffic_.latency_seconds(e.devices));
  }
  double rate(const Ends& e) const {
    return e.by_copy ? s_.library.copy_bytes_per_second : traffic_.bytes_per_second(e.devices);
  }

  void start(int slot, int m) {
    Live& live = live_[at(slot)];
    const Message& message = live.instance->message(m);
    Instance::State& state = live.instance->state(m);
    const Ends e = ends(live, message);
    const auto [from, to] = e.devices;
    state.parts = 1;
    if (e.by_copy) {
      processors_[at(to)].start(latency(e) + message.bytes / rate(e), 1,
                                token(Happening::core, slot, m));
    } else {
      const double core = message.bytes * s_.library.core_seconds_per_byte;
      if (core > 0) {
        state.parts = 3;
        for (const int device : {from, to})
          start_on_core(device, core, token(Happening::core, slot, m));
      }
      processors_[at(from)].communicates(+1);
      processors_[at(to)].communicates(+1);
      if (live.counted) traffic_.begin(e.devices, message.bytes, network_.now());
      network_.send(from, to, message.bytes, latency(e), token(Happening::arrival, slot, m));
    }
    for (const std::int32_t next : live.instance->streamers(m)) {
      const double first_chunk = std::min(live.instance->message(next).chunk, message.bytes);
      network_.at(network_.now() + latency(e) + first_chunk / rate(e),
                  token(Happening::stream, slot, next));
    }
  }

  /// What the network stack does for one end of a message: on the host beside the device, where the
  /// cluster says what that has, else on the device's own cores.
  void start_on_core(int device, double seconds, std::uint64_t done) {
    if (s_.cluster.has_hosts()) {
      Host& host = hosts_[at(s_.cluster.server_of(device))];
      if (host.issues()) {
        host.cores().start(seconds, 1, done);
        follow(host);
        return;
      }
    }
    processors_[at(device)].start(seconds, 1, done);
  }

  void arrived(int slot, int m) {
    Live& live = live_[at(slot)];
    const Ends e = ends(live, live.instance->message(m));
    processors_[at(e.devices.first)].communicates(-1);
    processors_[at(e.devices.second)].communicates(-1);
    if (live.counted) traffic_.end(e.devices, network_.now());
    part_ended(slot, m);
  }

  void part_ended(int slot, int m) {
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
      earliest =
          std::max(earliest, from.ended_at + last_chunk_seconds(live, live.instance->message(m)));
    }
    if (earliest > network_.now()) {
      network_.at(earliest, token(Happening::release, slot, m));
      return;
    }
    add_up(slot, m);
  }

  /// What the last chunk of a streamed message still takes when it has come in.
  double last_chunk_seconds(const Live& live, const Message& message) const {
    const Ends e = ends(live, message);
    return latency(e) + std::min(message.chunk, message.bytes) / rate(e);
  }

  void add_up(int slot, int m) {
    const Live& live = live_[at(slot)];
    const Message& message = live.instance->message(m);
    if (message.reduced > 0 && s_.library.reduce_bytes_per_second > 0)
      processors_[at(ends(live, message).devices.second)].start(
          message.reduced / s_.library.reduce_bytes_per_second, 1, token(Happening::sum, slot, m));
    else
      end(slot, m);
  }

  void end(int slot, int m) {
    Live& live = live_[at(slot)];
    live.instance->state(m).ended_at = network_.now();
    live.instance->end(m, ready_, finished_);
    for (const std::int32_t next : live.instance->streamers(m)) {
      const auto ended = [&](std::int32_t source) { return live.instance->state(source).ended; };
      const auto sources = live.instance->sources(next);
      if (live.instance->state(next).held && std::all_of(sources.begin(), sources.end(), ended))
        network_.at(network_.now() + last_chunk_seconds(live, live.instance->message(next)),
                    token(Happening::release, slot, next));
    }
    follow_up(slot);
  }

  // ---- rows of stores --------------------------------------------------------------------------

  /// What a rank asks of one owner: a message there, which the owner's host serves whatever its
  /// lanes do, and a message back. Rows are in the memory of hosts: between ranks that have one
  /// memory the words take the library's time and no link, and the rows are copied once, by whom
  /// serves; a rank's own take that alone.
  struct Asked {
    int rank = 0, lane = 0, owner = 0;
    enum { asking, serving, answering } stage = asking;
    int parts = 0;  ///< of the stage, under way
    bool counted = false;
    double there = 0, back = 0;             ///< bytes of the messages
    double bytes = 0, serving_seconds = 0;  ///< of the rows
  };

  void ask_owners(int r, int l) {
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

  int take_slot() {
    if (free_asked_.empty()) {
      free_asked_.push_back(static_cast<int>(asked_.size()));
      asked_.emplace_back();
    }
    const int slot = free_asked_.back();
    free_asked_.pop_back();
    return slot;
  }

  void start_stage(int slot) {
    Asked& asked = asked_[at(slot)];
    const std::uint64_t part = token(Happening::access_part, slot);
    if (asked.stage == Asked::serving) {
      Host& host = host_of(ranks_[at(asked.owner)]);
      asked.parts = host.start(asked.serving_seconds, 1, asked.bytes, part);
      return follow(host);
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
    network_.send(from, to, bytes,
                  s_.library.message_seconds + traffic_.latency_seconds({from, to}),
                  token(Happening::access_arrival, slot));
  }

  /// Of the message of its stage.
  Traffic::Pair ends_of(const Asked& asked) const {
    const int asker = memory_end(s_.cluster, ranks_[at(asked.rank)].device),
              owner = memory_end(s_.cluster, ranks_[at(asked.owner)].device);
    return asked.stage == Asked::asking ? Traffic::Pair{asker, owner} : Traffic::Pair{owner, asker};
  }

  /// A message of rows begins (+1) or ends (−1) at a rank: a device that has a host is not part of
  /// it.
  void communicates(int r, int change) {
    if (!s_.cluster.has_hosts()) processors_[at(ranks_[at(r)].device)].communicates(change);
  }

  void access_arrived(int slot) {
    const Asked& asked = asked_[at(slot)];
    for (const int r : {asked.rank, asked.owner}) communicates(r, -1);
    if (asked.counted) traffic_.end(ends_of(asked), network_.now());
    access_part_ended(slot);
  }

  void access_part_ended(int slot) {
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

  // ---- events ----------------------------------------------------------------------------------

  void happen(std::uint64_t token) {
    const auto what = static_cast<Happening>(token >> (2 * kBits));
    const auto mask = (std::uint64_t{1} << kBits) - 1;
    const auto a = static_cast<int>(token >> kBits & mask), b = static_cast<int>(token & mask);
    tell_progress();
    switch (what) {
      case Happening::processor:
        return work_done(processors_[at(a)]);
      case Happening::host_cores:
        return work_done(hosts_[at(a)].cores(), &hosts_[at(a)]);
      case Happening::host_memory:
        return work_done(hosts_[at(a)].memory());
      case Happening::lane:
        return wake(a, b);
      case Happening::issue:
        ranks_[at(a)].issuing = false;
        return issue(a);
      case Happening::work:
        return complete(a, b);
      case Happening::task:
        if (--ranks_[at(a)].lanes[at(b)].open == 0) complete(a, b);
        return;
      case Happening::call:
        return come(a, b);
      case Happening::arrival:
        return arrived(a, b);
      case Happening::core:
        return part_ended(a, b);
      case Happening::stream:
        live_[at(a)].instance->stream(b, ready_);
        return follow_up(a);
      case Happening::release:
        return add_up(a, b);
      case Happening::sum:
        return end(a, b);
      case Happening::access_arrival:
        return access_arrived(a);
      case Happening::access_part:
        return access_part_ended(a);
    }
  }

  /// The timer of a processor rang; `host`: whose cores these are.
  void work_done(Processor& processor, Host* host = nullptr) {
    std::vector<std::uint64_t> done;
    processor.on_timer(done);
    if (host != nullptr) follow(*host);
    for (const std::uint64_t t : done) happen(t);
  }

  void tell_progress() {
    if (!s_.progress || (++events_ & 0xffff) != 0) return;
    const double wall = seconds_since_start();
    tell("\rreplaying: {} messages, {} simulated, {:.0f} s   ", messages_,
         human_seconds(network_.now()), wall);
    std::fflush(stderr);
    told_ = true;
  }

  double seconds_since_start() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  // ---- what came out ---------------------------------------------------------------------------

  void require_finished() const {
    for (int r = 0; r < s_.ranks(); ++r)
      for (int l = 0; l < kLanes; ++l) {
        const Rank& rank = ranks_[at(r)];
        const auto& items = rank.schedule().lanes[at(l)];
        const std::uint32_t cursor = rank.lanes[at(l)].cursor;
        if (cursor < items.size())
          throw ProgramError(
              r, cursor,
              fmt::format("the replay stands still: lane {} waits at item {} of {} ({})",
                          name_of(static_cast<Lane>(l)), cursor, items.size(),
                          to_string(rank.schedule().phases[items[cursor].phase])));
      }
  }

  Timeline timeline(int r) const {
    const Rank& rank = ranks_[at(r)];
    return timeline_of(r, *rank.program, rank.trace,
                       [this](const Group& group) { return calls_.crosses_servers(group); });
  }

  int epochs() const {
    int last = -1;
    for (const Timeline::Mark& mark : ranks_.front().trace.marks)
      if (mark.phase.in_epoch()) last = std::max(last, mark.phase.epoch);
    return last + 1;
  }

  Replay result() const {
    if (told_) tell("\r\033[K");
    Replay result;
    double slowest = -1;
    int slowest_rank = 0;
    for (int r = 0; r < s_.ranks(); ++r) {
      const Timeline all = timeline(r);
      std::vector<EpochCost> costs = epoch_costs(all, epochs());
      double sum = 0;
      for (const EpochCost& cost : costs) sum += cost.seconds;
      if (sum > slowest) {
        slowest = sum;
        slowest_rank = r;
      }
      result.epochs.push_back(std::move(costs));
    }
    std::set<int> kept{slowest_rank};
    for (int r = 0; r < std::min(s_.ranks(), s_.timeline_ranks); ++r) kept.insert(r);
    for (const int r : kept)
      result.timelines.push_back(first_epochs(timeline(r), s_.timeline_epochs));
    result.links = traffic_.use();
    result.algorithms = calls_.algorithms();
    result.messages = messages_;
    result.operations = operations_;
    result.simulated_seconds = network_.now();
    result.wall_seconds = seconds_since_start();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    result.peak_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
    return result;
  }

  const Simulation& s_;
  Traffic& traffic_;
  Interconnect& network_;
  CallBook calls_;
  std::chrono::steady_clock::time_point began_;
  std::vector<Processor> processors_;  ///< of devices
  std::deque<Host> hosts_;             ///< of servers, or of devices where those are machines
  std::vector<Rank> ranks_;
  std::deque<std::pair<int, int>> to_do_;
  std::unordered_map<CallKey, int, CallKeyHash> slots_;
  std::vector<Live> live_;
  std::vector<int> free_slots_;
  std::vector<int> ready_, finished_;
  std::vector<Asked> asked_;
  std::vector<int> free_asked_;
  std::int64_t messages_ = 0, operations_ = 0, events_ = 0;
  bool told_ = false;
};

}  // namespace

std::vector<Traffic::Pair> connected_pairs(const Simulation& simulation) {
  auto pairs = CallBook(simulation).connected_pairs();
  for (int r = 0; r < simulation.ranks(); ++r) {
    const PricedProgram& program = simulation.programs[at(r)];
    const int asker = memory_end(simulation.cluster, simulation.devices[at(r)]);
    for (const StoreAccess& access : program.schedule->accesses)
      for_each_owner(*program.schedule, access, program.groups, [&](int rank, double, double) {
        const int owner = memory_end(simulation.cluster, simulation.devices[at(rank)]);
        if (owner != asker) pairs.insert({{asker, owner}, {owner, asker}});
      });
  }
  return {pairs.begin(), pairs.end()};
}

Replay replay(const Simulation& simulation, Traffic& traffic, Interconnect& network) {
  return Replayer(simulation, traffic, network).run();
}

}  // namespace orrery::sim
