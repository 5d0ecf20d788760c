// The state of a replay and its events. Its parts have their own files: lanes and the hosts that
// issue to them, collectives, rows of stores. replay.cpp has events and results.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/runtime/exchange_time.hpp"
#include "sim/cores/host.hpp"
#include "sim/cores/processor.hpp"
#include "sim/replay/calls.hpp"
#include "sim/replay/rank_trace.hpp"
#include "sim/replay/replay.hpp"

namespace orrery::sim {

/// The meaning of a network token: a type and two numbers.
enum class Happening : std::uint64_t {
  processor,
  host_cores,
  host_memory,
  lane,
  woken,
  issue,
  work,
  task,
  call,
  arrival,
  core,
  message,
  message_behind_rows,
  without_messages,
  release,
  sum,
  access_behind_rows,
  access_arrival,
  access_message,
  access_served
};
inline constexpr int kBits = 28;
constexpr std::uint64_t token(Happening what, std::int64_t a, std::int64_t b = 0) {
  return static_cast<std::uint64_t>(what) << (2 * kBits) | static_cast<std::uint64_t>(a) << kBits |
         static_cast<std::uint64_t>(b);
}

/// One replay, from event to event. A rank's host continues as far as it can, and lanes start what
/// they can. Whatever ends wakes those that wait for it.
class Replayer final : public NetworkListener {
 public:
  Replayer(const Simulation& simulation, Traffic& traffic, Interconnect& network,
           const std::function<void(const ReplayProgress&)>& progress);
  Replay run();
  void on_timer(std::uint64_t token) override;
  void on_arrival(std::uint64_t token) override;

 private:
  /// Thousands of ranks take turns, so what an item needs stands close together.
  struct alignas(64) LaneState {
    std::uint32_t cursor = 0;  ///< items before it are done
    bool busy = false;         ///< the item at the cursor runs
    int open = 0;              ///< parts of the running task; collectives that it belongs to
    bool blocked = true;       ///< it had to wait for something
    bool wakes = false;        ///< is being handed over to, on a core
    bool exchanges = false;  ///< `exchange`, in another line of the cache, has been told something
    double not_before = 0;   ///< hand-over
    double wake_at = -1;     ///< a timer was set for then
    double begin = 0;
    DoneRecords::OfLane done;
    alignas(64) ExchangeTime exchange;  ///< of the running collective or access
    ExchangeTime& exchange_told() {
      exchanges = true;
      return exchange;
    }
    /// The share of the operation that ends that is between servers.
    double take_external_share() {
      if (!std::exchange(exchanges, false)) return 0;
      return std::exchange(exchange, {}).external_share().value_or(0);
    }
  };

  /// What the host issues without waiting in between: items from one on.
  struct HostStep {
    std::uint32_t from = 0;
    Issued first;     ///< before it
    double base = 0;  ///< its time, by the host's clock
  };

  struct Rank {
    const PricedProgram* program = nullptr;
    const RankSchedule* its_schedule = nullptr;
    int used_lanes = 0;      ///< those from here on have no items
    std::uint32_t host = 0;  ///< next item of the host
    Issued issued;           ///< the position that the host has reached
    Issued first;            ///< before its last step
    double base = 0;         ///< time of its last step, by its clock
    std::vector<HostStep> steps;
    bool host_blocked = false;
    bool issuing = false;  ///< on a core of its host
    int device = 0, place = 0, sharers = 1;
    int works_at = 0;  ///< in hosts_
    std::array<LaneState, kLanes> lanes;
    int server = 0;
    int memory_end = 0;   ///< of the network
    bool serves = false;  ///< a request for its rows
    std::deque<int> to_serve;
    RankTrace trace;
    const RankSchedule& schedule() const { return *its_schedule; }
  };

  struct Live {
    CallKey key;
    std::shared_ptr<const CallPlan> plan;  ///< none while the place is free
    Instance instance;                     ///< keeps its memory for the next one
    bool counted = false;                  ///< in an epoch
  };

  struct Ends {
    int from, to;    ///< devices
    int connection;  ///< CallPlan::connections
    bool by_copy() const { return connection == CallPlan::kCopied; }
  };

  /// A rank's request to one owner: a message there, which a thread of the owner serves
  /// whatever its lanes do, one request after the other; and a message back, which is sent while
  /// the rest is gathered. (What is pushed is added when all of it has come.) Rows are in the
  /// memory of hosts: between ranks that have one memory the words take the library's time and no
  /// link, and the rows are copied once, by whom serves; a rank's own take that alone.
  struct Asked {
    int rank = 0, lane = 0, owner = 0;
    enum { asking, serving, answering } stage = asking;
    int messages = 0, gathering = 0;  ///< parts of them under way
    bool counted = false;
    bool alone = false;             ///< the asker reads the rows itself
    double there = 0, back = 0;     ///< bytes of the messages
    double bytes = 0, seconds = 0;  ///< bytes of the rows, and seconds to serve them
    double first = 1;               ///< share of it before the answer begins
    double sent_at = 0;             ///< its last message
    int owners = 0;                 ///< that the rank asks at the same time, by messages
  };

  void make_room();

  // hosts
  void make_hosts();
  /// A device's own, or that of the first server on its machine; devices count server by server.
  Processor& processor_of(int device) {
    const std::size_t count = processors_.size();
    return processors_[at(device) < count ? at(device) : at(device) % count];
  }
  /// A lane's; what it does for a collective, and whoever serves rows or messages, is kMover's.
  static Thread thread_of(int r, int l) {
    const auto lane = static_cast<Lane>(l);
    return {r * kLanes + l, lane != Lane::compute && lane != Lane::sampler};
  }
  static constexpr Thread kMover{-1, true};
  Host& host_of(const Rank& rank) { return hosts_[at(rank.works_at)]; }
  const HostClock& clock_of(const Rank& rank) const { return hosts_[at(rank.works_at)].clock(); }
  /// When the rank's host has done so much work. If nobody crowds it, its clock runs evenly.
  double time_of(const Rank& rank, double work) const {
    return crowded_ ? clock_of(rank).time_of(work) : work;
  }
  void require_host(const Rank& rank);
  bool may_be_crowded() const;
  void follow(int h);
  void issue(int r);
  void start_on_core(int device, double seconds, std::uint64_t done);
  void settle_marks();

  // what they issue
  double host_time(const Rank& rank, const Issued& until) const {
    return host_time(rank, {0, rank.first, rank.base}, until);
  }
  double host_time(const Rank& rank, const HostStep& step, const Issued& until) const;
  std::vector<Timeline::MemoryMark> memory_marks(const Rank& rank) const;
  void proceed(int r);
  void wake_host(int r, int lane);

  // lanes
  void wake(int r, int lane) { to_do_.emplace_back(r, lane); }
  void work_off();
  void advance(int r, int l);
  void read_files(const Work& task, int r, int l);
  double start_of(int r, int l);
  void later(LaneState& lane, int r, int l, double time);
  void begin(LaneState& lane, double time) {
    lane.busy = true;
    lane.begin = time;
    ++operations_;
  }
  void begin(LaneState& lane) { begin(lane, network_.now()); }
  void note_first_core(int r, int l);
  void complete(int r, int l);
  void pass(int r, int l);

  // collectives
  void announce(int r, int l, double time);
  void come(int r, int l, double time);
  /// The place of the collective; makes it for the first of its ranks.
  int slot_of(const CallKey& key, int r, const Call& call, bool counted);
  int find_slot(const CallKey& key, int r, const Call& call, bool counted);
  void follow_up(int slot);
  void await_messages(int r, int l, const CallPlan& plan, double time);
  void count(const Live& live, int m, int under_way, int awaited);
  bool external(int r, int peer) const { return ranks_[at(r)].server != ranks_[at(peer)].server; }
  Ends ends(const Live& live, int m) const;
  double latency(const Ends& e) const {
    return s_.library.message_seconds + (e.by_copy() ? 0 : traffic_.latency_seconds(e.connection));
  }
  /// Bytes per second of a message, or of a chunk of one.
  double rate(const Ends& e, double bytes) const {
    return e.by_copy() ? s_.library.copy_bytes_per_second.of(bytes)
                       : traffic_.bytes_per_second(e.connection);
  }
  void start(int slot, int m, bool may_wait = true);
  void arrived(int slot, int m);
  void part_ended(int slot, int m);
  double last_chunk_seconds(const Live& live, int m) const;
  void add_up(int slot, int m);
  void end(int slot, int m);

  // rows of stores
  void ask_owners(int r, int l);
  int take_slot();
  void send_words(int slot, bool may_wait = true);
  /// Who sends the message of its stage, and to whom.
  static std::pair<int, int> ranks_of(const Asked& asked) {
    return asked.stage == Asked::asking ? std::pair(asked.rank, asked.owner)
                                        : std::pair(asked.owner, asked.rank);
  }
  Traffic::Pair ends_of(const Asked& asked) const;
  int connection_of(const Asked& asked) const { return traffic_.connection(ends_of(asked)); }
  void communicates(int r, int change);
  double bytes_left(const Asked& asked) const;
  bool waits_behind_rows(int from, int to, std::uint64_t token);
  static std::uint64_t pair_of(int from, int to) {
    return static_cast<std::uint64_t>(from) << kBits | static_cast<std::uint64_t>(to);
  }
  void access_arrived(int slot);
  void message_part_ended(int slot);
  bool takes_thread(const Asked& asked) const;
  void wait_for_owner(int slot);
  void serve_next(int r);
  void serve(int slot);
  void serve_share(int slot, double share);
  void served_part(int slot);
  void answered(int slot);

  // events
  void happen(std::uint64_t token);
  void work_done(Processor& processor);
  void tell_progress();
  double seconds_since_start() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  // what came out
  void require_finished() const;
  Timeline timeline(int r) const;
  int epochs() const;
  Replay result() const;

  const Simulation& s_;
  Traffic& traffic_;
  Interconnect& network_;
  const std::function<void(const ReplayProgress&)>& progress_;
  CallBook calls_;
  bool hosts_beside_;  ///< their devices; else those are machines
  bool many_servers_;  ///< more than one
  std::chrono::steady_clock::time_point began_;
  std::vector<Processor> processors_;  ///< of devices; of several servers on a machine, once
  std::deque<Host> hosts_;             ///< of servers, or of devices if those are machines
  std::vector<std::vector<int>> ranks_of_host_;
  bool crowded_ = false;  ///< threads may find their cores busy
  std::vector<Rank> ranks_;
  DoneRecords records_;
  std::vector<std::pair<int, int>> to_do_;
  std::unordered_map<CallKey, int, CallKeyHash> slots_;
  std::array<int, 16> recent_slots_{};  ///< found last, so that most ranks need not ask slots_
  std::vector<Live> live_;
  std::vector<int> free_slots_;
  std::vector<int> ready_, finished_;
  std::vector<Done> worked_;   ///< by a processor
  double began_on_core_ = -1;  ///< the task that is done
  std::vector<Asked> asked_;
  std::vector<int> free_asked_;
  /// The messages of requests that are under way over links, by pair_of() their ends; of several the longest.
  std::unordered_map<std::uint64_t, int> rows_under_way_;
  std::int64_t messages_ = 0, operations_ = 0, events_ = 0;
  double told_at_ = 0;  ///< wall seconds since the start
};

}  // namespace orrery::sim
