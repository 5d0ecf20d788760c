#include "sim/replay/replay.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "sim/replay/replayer.hpp"

namespace orrery::sim {
namespace {

/// The ranks whose timelines come back: all if there are few, else the first, the middle and the
/// last one of those that do alike. If these are too many as well, some of them, evenly spread.
std::vector<int> shown_ranks(const Simulation& s) {
  std::vector<int> ranks;
  if (s.ranks() <= s.timeline_ranks) {
    for (int r = 0; r < s.ranks(); ++r) ranks.push_back(r);
    return ranks;
  }
  std::map<const RankSchedule*, std::vector<int>> kinds;
  for (int r = 0; r < s.ranks(); ++r) kinds[s.programs[at(r)].schedule.get()].push_back(r);
  for (const auto& [schedule, alike] : kinds)
    for (const int r : std::set{alike.front(), alike[alike.size() / 2], alike.back()})
      ranks.push_back(r);
  std::sort(ranks.begin(), ranks.end());
  if (std::ssize(ranks) <= s.timeline_ranks) return ranks;
  std::vector<int> some;
  for (int i = 0; i < s.timeline_ranks; ++i)
    some.push_back(ranks[at(i) * ranks.size() / at(s.timeline_ranks)]);
  return some;
}

}  // namespace

Replayer::Replayer(const Simulation& simulation, Traffic& traffic, Interconnect& network,
                   const std::function<void(const ReplayProgress&)>& progress)
    : s_(simulation),
      traffic_(traffic),
      network_(network),
      progress_(progress),
      calls_(simulation, &traffic),
      hosts_beside_(simulation.cluster.has_hosts()),
      many_servers_(simulation.cluster.servers() > 1),
      began_(std::chrono::steady_clock::now()) {
  // Of the servers on one machine the first has the processors of all.
  const int machines = s_.cluster.machines();
  for (std::size_t d = 0; d < s_.cluster.devices.size(); ++d)
    if (s_.cluster.server_of(static_cast<int>(d)) < machines)
      processors_.emplace_back(network, s_.cluster.cores_of(static_cast<int>(d)),
                               s_.behaviour.communication_slowdown,
                               token(Happening::processor, static_cast<std::int64_t>(d)),
                               hosts_beside_ ? 0 : s_.behaviour.turn_seconds);
  make_hosts();
  std::map<int, int> on_server;
  for (int r = 0; r < s_.ranks(); ++r) {
    Rank rank;
    rank.program = &s_.programs[at(r)];
    rank.its_schedule = rank.program->schedule.get();
    for (int lane = 0; lane < kLanes; ++lane)
      if (!rank.schedule().lanes[at(lane)].empty()) rank.used_lanes = lane + 1;
    rank.device = s_.devices[at(r)];
    rank.server = s_.cluster.server_of(rank.device);
    rank.works_at = hosts_beside_ ? rank.server : rank.device;
    rank.memory_end = memory_end(s_.cluster, rank.device);
    ranks_of_host_[at(rank.works_at)].push_back(r);
    rank.place = on_server[rank.server]++;
    rank.trace.reads_files = s_.cluster.storage.has_rate();
    ranks_.push_back(std::move(rank));
  }
  for (Rank& rank : ranks_)
    rank.sharers = s_.hosts == Hosts::per_server ? on_server[rank.server] : 1;
  make_room();
  crowded_ = may_be_crowded();
  std::set<const RankSchedule*> seen;
  for (const Rank& rank : ranks_)
    if (seen.insert(rank.program->schedule.get()).second) require_host(rank);
}

/// For all that the ranks do.
void Replayer::make_room() {
  std::map<const RankSchedule*, std::size_t> blocks;
  std::size_t all = 0;
  for (const Rank& rank : ranks_) {
    const auto [found, is_new] = blocks.try_emplace(&rank.schedule(), 0);
    for (int lane = 0; is_new && lane < kLanes; ++lane)
      found->second += DoneRecords::blocks_for(rank.trace.count_of(rank.schedule(), lane));
    all += found->second;
  }
  records_ = DoneRecords(all);
}

Replay Replayer::run() {
  for (int r = 0; r < s_.ranks(); ++r) proceed(r);
  work_off();
  network_.run(*this);
  require_finished();
  settle_marks();
  for (Rank& rank : ranks_)
    for (std::size_t lane = 0; lane < rank.lanes.size(); ++lane)
      rank.trace.lanes[lane] = rank.lanes[lane].done;
  return result();
}

void Replayer::on_timer(std::uint64_t token) {
  happen(token);
  work_off();
}

void Replayer::on_arrival(std::uint64_t token) {
  happen(token);
  work_off();
}

// ---- events -------------------------------------------------------------------------------------

void Replayer::happen(std::uint64_t token) {
  const auto what = static_cast<Happening>(token >> (2 * kBits));
  const auto mask = (std::uint64_t{1} << kBits) - 1;
  const auto a = static_cast<int>(token >> kBits & mask), b = static_cast<int>(token & mask);
  tell_progress();
  switch (what) {
    case Happening::processor:
      return work_done(processors_[at(a)]);
    case Happening::host_cores:
      work_done(hosts_[at(a)].cores());
      return follow(a);
    case Happening::host_memory:
      return work_done(hosts_[at(a)].memory());
    case Happening::lane:
      return wake(a, b);
    case Happening::woken:
      ranks_[at(a)].lanes[at(b)].wakes = false;
      return wake(a, b);
    case Happening::issue:
      ranks_[at(a)].issuing = false;
      return issue(a);
    case Happening::work:
      note_first_core(a, b);
      return complete(a, b);
    case Happening::task:
      note_first_core(a, b);
      if (--ranks_[at(a)].lanes[at(b)].open == 0) complete(a, b);
      return;
    case Happening::call:
      return come(a, b, network_.now());
    case Happening::arrival:
      return arrived(a, b);
    case Happening::core:
      return part_ended(a, b);
    case Happening::without_messages:
      live_[at(a)].instance.arrive(b, network_.now(), ready_, finished_);
      return follow_up(a);
    case Happening::message:
      start(a, b);
      return follow_up(a);
    case Happening::message_behind_rows:
      start(a, b, false);
      return follow_up(a);
    case Happening::release:
      return add_up(a, b);
    case Happening::sum:
      return end(a, b);
    case Happening::access_behind_rows:
      return send_words(a, false);
    case Happening::access_arrival:
      return access_arrived(a);
    case Happening::access_message:
      return message_part_ended(a);
    case Happening::access_served:
      return served_part(a);
  }
}

/// The timer of a processor rang.
void Replayer::work_done(Processor& processor) {
  std::vector<Done> done = std::exchange(worked_, {});
  processor.on_timer(done);
  for (const Done& d : done) {
    began_on_core_ = d.began;
    happen(d.token);
  }
  began_on_core_ = -1;
  done.clear();
  worked_ = std::move(done);
}

void Replayer::tell_progress() {
  constexpr double kPause = 0.5;
  if (!progress_ || (++events_ & 0xfff) != 0 || seconds_since_start() < told_at_ + kPause) return;
  told_at_ = seconds_since_start();
  progress_({std::max(0, epochs() - 1), messages_, network_.now()});
}

// ---- what came out ------------------------------------------------------------------------------

void Replayer::require_finished() const {
  for (int r = 0; r < s_.ranks(); ++r)
    for (int l = 0; l < kLanes; ++l) {
      const Rank& rank = ranks_[at(r)];
      const auto& items = rank.schedule().lanes[at(l)];
      const std::uint32_t cursor = rank.lanes[at(l)].cursor;
      if (cursor < items.size())
        throw ProgramError(
            r, cursor,
            fmt::format("the replay is in a deadlock: lane {} waits at item {} of {} ({})",
                        name_of(static_cast<Lane>(l)), cursor, items.size(),
                        to_string(rank.schedule().phases[items[cursor].phase])));
    }
}

Timeline Replayer::timeline(int r) const {
  const Rank& rank = ranks_[at(r)];
  Timeline timeline = timeline_of(r, *rank.program, rank.trace, records_);
  timeline.memory = memory_marks(rank);
  return timeline;
}

int Replayer::epochs() const {
  int last = -1;
  for (const Timeline::Mark& mark : ranks_.front().trace.marks)
    if (mark.phase.in_epoch()) last = std::max(last, mark.phase.epoch);
  return last + 1;
}

Replay Replayer::result() const {
  Replay result;
  result.epochs.resize(at(s_.ranks()));
  const int count = epochs();
  parallel_for(s_.ranks(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t r = at(begin); r < at(end); ++r)
      result.epochs[r] = epoch_costs(*ranks_[r].program, ranks_[r].trace, records_, count);
  });
  double slowest = -1;
  int slowest_rank = 0;
  for (int r = 0; r < s_.ranks(); ++r) {
    double sum = 0;
    for (const EpochCost& cost : result.epochs[at(r)]) sum += cost.seconds;
    if (sum > slowest) {
      slowest = sum;
      slowest_rank = r;
    }
    const auto& marks = ranks_[at(r)].trace.marks;
    const auto first = std::ranges::find_if(
        marks, [](const Timeline::Mark& mark) { return mark.phase.in_epoch(); });
    result.setup_seconds.push_back(first == marks.end() ? 0 : first->at);
  }
  std::set<int> kept{slowest_rank};
  for (const int r : shown_ranks(s_)) kept.insert(r);
  for (const int r : kept) result.timelines.push_back(kept_epochs(timeline(r), s_.timeline_epochs));
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

std::vector<Traffic::Pair> connected_pairs(const Simulation& simulation) {
  auto pairs = CallBook(simulation).connected_pairs();
  std::vector<int> ends;  // of the ranks' memories
  for (const int device : simulation.devices)
    ends.push_back(memory_end(simulation.cluster, device));
  for (int r = 0; r < simulation.ranks(); ++r) {
    const PricedProgram& program = simulation.programs[at(r)];
    const int asker = ends[at(r)];
    const bool reads = std::ranges::any_of(program.schedule->works,
                                           [](const Work& work) { return work.reads_files(); });
    if (reads && simulation.cluster.storage.has_rate())
      pairs.insert({storage_end(simulation.cluster), simulation.devices[at(r)]});
    for (const StoreAccess& access : program.schedule->accesses)
      for_each_owner(*program.schedule, access, program.groups, [&](int rank, double, double) {
        const int owner = ends[at(rank)];
        if (owner != asker) pairs.insert({{asker, owner}, {owner, asker}});
      });
  }
  return {pairs.begin(), pairs.end()};
}

Replay replay(const Simulation& simulation, Traffic& traffic, Interconnect& network,
              const std::function<void(const ReplayProgress&)>& progress) {
  return Replayer(simulation, traffic, network, progress).run();
}

}  // namespace orrery::sim
