// Hosts, what they issue, and the lanes that execute it.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/error.hpp"
#include "sim/replay/replayer.hpp"
#include "sim/replay/variation.hpp"

namespace orrery::sim {
namespace {

constexpr double kClockError = 1e-12;  // seconds, of the network's clock
constexpr double kOthersKnow = std::numeric_limits<double>::infinity();

}  // namespace

// ---- hosts --------------------------------------------------------------------------------------

void Replayer::make_hosts() {
  const ServerHost& said = s_.cluster.host;
  const int count =
      hosts_beside_ ? s_.cluster.servers() : static_cast<int>(s_.cluster.devices.size());
  ranks_of_host_.resize(at(count));
  for (int h = 0; h < count; ++h) {
    const std::uint64_t cores = token(Happening::host_cores, h),
                        memory = token(Happening::host_memory, h);
    if (hosts_beside_)
      hosts_.emplace_back(network_, said.cores, said.memory_bytes_per_second, cores, memory);
    else
      hosts_.emplace_back(network_, processor_of(h), s_.cluster.cores_of(h),
                          s_.cluster.devices[at(h)].memory_bytes_per_second, memory);
  }
}

/// The cluster has all that the rank's host tasks need, and the hosts that serve it rows. (For
/// hosts that are all alike.)
void Replayer::require_host(const Rank& rank) {
  const RankSchedule& schedule = rank.schedule();
  const Host& host = host_of(rank);
  bool tasks = false, bytes = false;
  for (const auto& lane : schedule.lanes)
    for (const LaneItem& item : lane)
      if (item.type == LaneItem::Type::task && !schedule.works[item.index].reads_files()) {
        tasks = true;
        bytes = bytes || schedule.works[item.index].bytes > 0;
      }
  for (const StoreAccess& access : schedule.accesses)
    for_each_owner(schedule, access, rank.program->groups,
                   [&](int, double, double) { tasks = bytes = true; });
  std::vector<std::string> missing;
  if (tasks && !host.has_cores()) missing.emplace_back("server.host_cores");
  if (bytes && !host.has_memory()) missing.emplace_back("server.host_memory_bytes_per_second");
  if (missing.empty()) return;
  throw ConfigError(missing.front(),
                    fmt::format("the program has tasks for the host, but the cluster file of {} "
                                "does not have this key{} for its hosts: add {}",
                                s_.cluster.name, missing.size() > 1 ? " and " + missing.back() : "",
                                missing.size() > 1 ? "both" : "it"));
}

/// Whether threads may ever find the cores of a host busy: not if only issuing threads use them,
/// and each has one.
bool Replayer::may_be_crowded() const {
  bool others = s_.library.core_seconds_per_byte > 0;
  std::set<const RankSchedule*> seen;
  for (const Rank& rank : ranks_) {
    const RankSchedule& schedule = rank.schedule();
    if (!seen.insert(&schedule).second) continue;
    others = others || !schedule.accesses.empty();
    for (const auto& lane : schedule.lanes)
      others =
          others || std::any_of(lane.begin(), lane.end(), [&](const LaneItem& item) {
            return item.type == LaneItem::Type::task && !schedule.works[item.index].reads_files();
          });
  }
  std::size_t most = 0;
  for (const auto& ranks : ranks_of_host_) most = std::max(most, ranks.size());
  return others || static_cast<int>(most) > s_.cluster.host.cores;
}

/// Call it after anything began or ended on a host's cores. If they became faster, the next issue
/// comes earlier than was asked for.
void Replayer::follow(int h) {
  if (!hosts_[at(h)].follow(network_.now())) return;
  for (const int r : ranks_of_host_[at(h)])
    for (int lane = 0; lane < kLanes; ++lane) wake(r, lane);
}

/// Takes a core of the host until it has issued up to its present point. For a host that serves all
/// ranks of a server, the first one's.
void Replayer::issue(int r) {
  Rank& rank = ranks_[at(r)];
  Host& host = host_of(rank);
  if (!crowded_ || rank.issuing || !host.issues() || (rank.sharers > 1 && rank.place > 0)) return;
  if (rank.issued.submits == rank.first.submits) return;
  const double left = host_time(rank, rank.issued) - host.clock().work_at(network_.now());
  if (left < kClockError) return;
  rank.issuing = true;
  host.cores().start(left, 1, token(Happening::issue, r));
  follow(rank.works_at);
}

/// Work of the network stack for one end of a message: on the host beside the device, if the
/// cluster describes it, else on the device's own cores.
void Replayer::start_on_core(int device, double seconds, std::uint64_t done) {
  const int h = hosts_beside_ ? s_.cluster.server_of(device) : device;
  if (!hosts_[at(h)].issues()) return processor_of(device).start(seconds, 1, done, kMover);
  hosts_[at(h)].cores().start(seconds, 1, done);
  follow(h);
}

/// Marks were made by the clocks of hosts: converts them to time.
void Replayer::settle_marks() {
  for (Rank& rank : ranks_) {
    const HostClock& clock = clock_of(rank);
    for (Timeline::Mark& mark : rank.trace.marks) mark.at = clock.time_of(mark.at);
  }
}

// ---- what hosts issue ---------------------------------------------------------------------------

/// When, by its clock, the rank's host reaches a point with this much issued before it. If one host
/// serves several ranks it goes round: a rank's submit comes after those of all ranks before it,
/// and after its own place in the round.
double Replayer::host_time(const Rank& rank, const HostStep& step, const Issued& until) const {
  if (until.submits <= step.first.submits) return step.base;
  const double calls = until.calls - step.first.calls;
  const double others = until.submits - step.first.submits - calls;
  const double own = others * s_.behaviour.issue_seconds + calls * s_.library.issue_seconds;
  const int after = rank.sharers - 1 - rank.place;  // in the last round
  return step.base + own * rank.sharers -
         (rank.sharers > 1 ? after : 0) * s_.behaviour.issue_seconds;
}

/// The host continues until it waits for something that has not passed.
void Replayer::proceed(int r) {
  Rank& rank = ranks_[at(r)];
  const RankSchedule& schedule = rank.schedule();
  rank.host_blocked = false;
  rank.steps.push_back({rank.host, rank.first, rank.base});
  for (; rank.host < schedule.host.size(); ++rank.host) {
    const HostItem& item = schedule.host[rank.host];
    if (item.type == HostItem::Type::phase) {
      rank.trace.marks.push_back({schedule.phases[item.index], host_time(rank, item.issued)});
      continue;
    }
    if (item.type == HostItem::Type::memory) continue;  // memory_marks()
    rank.issued = item.issued;
    if (rank.lanes[at(static_cast<int>(item.lane))].cursor < item.index) {
      rank.host_blocked = true;
      break;
    }
  }
  if (!rank.host_blocked) rank.issued = schedule.issued;
  issue(r);
  for (int lane = 0; lane < rank.used_lanes; ++lane) wake(r, lane);
}

/// Of a rank whose timeline is kept: there are thousands, for each of thousands of ranks.
std::vector<Timeline::MemoryMark> Replayer::memory_marks(const Rank& rank) const {
  const RankSchedule& schedule = rank.schedule();
  std::vector<Timeline::MemoryMark> marks;
  for (std::size_t s = 0; s < rank.steps.size(); ++s) {
    const HostStep& step = rank.steps[s];
    const std::size_t end =
        s + 1 < rank.steps.size() ? rank.steps[s + 1].from : schedule.host.size();
    for (std::size_t i = step.from; i < end; ++i) {
      const HostItem& item = schedule.host[i];
      if (item.type != HostItem::Type::memory) continue;
      marks.push_back({clock_of(rank).time_of(host_time(rank, step, item.issued)),
                       schedule.device_bytes[item.index]});
    }
  }
  return marks;
}

/// The awaited event may have passed.
void Replayer::wake_host(int r, int lane) {
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

// ---- lanes --------------------------------------------------------------------------------------

void Replayer::work_off() {
  for (std::size_t next = 0; next < to_do_.size(); ++next) {
    const auto [r, lane] = to_do_[next];
    advance(r, lane);
  }
  to_do_.clear();
}

/// Starts what the lane can start now.
void Replayer::advance(int r, int l) {
  Rank& rank = ranks_[at(r)];
  LaneState& lane = rank.lanes[at(l)];
  const RankSchedule& schedule = rank.schedule();
  const auto& items = schedule.lanes[at(l)];
  while (!lane.busy && lane.cursor < items.size()) {
    const LaneItem& item = items[lane.cursor];
    const double time = start_of(r, l);
    if (time > network_.now()) {
      if (time == kOthersKnow) return;
      // The time is certain if no host can become faster or slower.
      if (item.type != LaneItem::Type::call || crowded_) return later(lane, r, l, time);
    }
    switch (item.type) {
      case LaneItem::Type::wait:
      case LaneItem::Type::nothing:
        pass(r, l);
        break;
      case LaneItem::Type::work: {
        const Work& work = schedule.works[item.index];
        begin(lane);
        const double variation = s_.behaviour.variation;
        const double factor = variation > 0 ? variation_factor(variation, r, l, lane.cursor) : 1;
        processor_of(rank.device)
            .start(work.seconds * factor, work.threads, token(Happening::work, r, l),
                   thread_of(r, l));
        break;
      }
      case LaneItem::Type::task: {
        const Work& task = schedule.works[item.index];
        if (task.reads_files()) {
          read_files(task, r, l);
          break;
        }
        begin(lane);
        lane.open = host_of(rank).start(task.seconds, task.threads, task.bytes,
                                        token(Happening::task, r, l), thread_of(r, l));
        follow(rank.works_at);
        break;
      }
      case LaneItem::Type::call:
        begin(lane, time);
        announce(r, l, time + s_.library.collective_seconds);
        break;
      case LaneItem::Type::access:
        begin(lane);
        ask_owners(r, l);
        break;
    }
  }
}

/// The bytes of files come from the storage. If the cluster file does not say how fast, they are
/// there.
void Replayer::read_files(const Work& task, int r, int l) {
  if (!s_.cluster.storage.has_rate()) return pass(r, l);
  const int connection = traffic_.connection({storage_end(s_.cluster), ranks_[at(r)].device});
  LaneState& lane = ranks_[at(r)].lanes[at(l)];
  begin(lane);
  lane.open = 1;
  network_.send(connection, task.file_bytes, traffic_.latency_seconds(connection),
                token(Happening::task, r, l));
}

/// When the item at the lane's cursor starts, as far as is known now: at once, later, or kOthersKnow, if
/// the host, another lane or the cores will wake this one. A lane that has waited is handed over to: on a
/// machine the thread that wakes takes a core, and other work there is slower.
double Replayer::start_of(int r, int l) {
  Rank& rank = ranks_[at(r)];
  LaneState& lane = rank.lanes[at(l)];
  if (lane.wakes) return kOthersKnow;
  const LaneItem& item = rank.schedule().lanes[at(l)][lane.cursor];
  const double now = network_.now();
  const bool waits = item.type == LaneItem::Type::wait &&
                     rank.lanes[at(static_cast<int>(item.waits_for))].cursor < item.index;
  if (item.issued.submits > rank.issued.submits || waits) {
    lane.blocked = true;
    return kOthersKnow;
  }
  // The host issued long ago what was submitted before its last step.
  const double issued_at =
      item.issued.submits > rank.first.submits ? time_of(rank, host_time(rank, item.issued)) : now;
  const bool passes = item.type == LaneItem::Type::wait || item.type == LaneItem::Type::nothing;
  Processor& processor = processor_of(rank.device);
  const double handover = s_.behaviour.handover_seconds;
  const bool on_a_core = !hosts_beside_ && processor.has_cores() && handover > 0;
  if (issued_at > now) {
    lane.blocked = true;
    if (passes || item.type != LaneItem::Type::call || crowded_ || on_a_core) return issued_at;
  }
  const double time = std::max(now, issued_at);
  if (passes) return time;
  if (!std::exchange(lane.blocked, false)) return std::max(time, lane.not_before);
  if (on_a_core) {
    lane.wakes = true;
    processor.start(handover, 1, token(Happening::woken, r, l), thread_of(r, l));
    return kOthersKnow;
  }
  lane.not_before = time + handover;
  return lane.not_before;
}

/// Asks for one wake-up.
void Replayer::later(LaneState& lane, int r, int l, double time) {
  if (lane.wake_at != time) network_.at(time, token(Happening::lane, r, l));
  lane.wake_at = time;
}

/// A part of the running item has ended on the cores. The item did not run while it waited for its first.
void Replayer::note_first_core(int r, int l) {
  LaneState& lane = ranks_[at(r)].lanes[at(l)];
  lane.begin = std::max(lane.begin, began_on_core_);
}

/// The running item has ended.
void Replayer::complete(int r, int l) {
  Rank& rank = ranks_[at(r)];
  LaneState& lane = rank.lanes[at(l)];
  records_.add(lane.done, {lane.begin, network_.now()}, lane.take_external_share());
  lane.busy = false;
  pass(r, l);
  wake(r, l);
}

/// The item at the cursor is done: others may wait for it.
void Replayer::pass(int r, int l) {
  Rank& rank = ranks_[at(r)];
  ++rank.lanes[at(l)].cursor;
  for (int other = 0; other < rank.used_lanes; ++other) {
    const auto& items = rank.schedule().lanes[at(other)];
    if (other == l || items.empty()) continue;
    const LaneState& waiting = rank.lanes[at(other)];
    if (waiting.busy || waiting.cursor >= items.size()) continue;
    const LaneItem& item = items[waiting.cursor];
    if (item.type == LaneItem::Type::wait && static_cast<int>(item.waits_for) == l) wake(r, other);
  }
  wake_host(r, l);
}

}  // namespace orrery::sim
