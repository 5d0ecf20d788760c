#include "sim/replay/priced_program.hpp"

#include <fmt/core.h>

#include <map>
#include <tuple>
#include <type_traits>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/runtime/read_files.hpp"
#include "sim/price/host_seconds.hpp"
#include "sim/price/op_seconds.hpp"

namespace orrery::sim {
namespace {

/// The number of a value among the distinct ones seen so far.
template <class Key>
class Numbers {
 public:
  /// `added` is called for a new one.
  template <class Added>
  std::uint32_t of(const Key& key, const Added& added) {
    const auto [at, is_new] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) added();
    return at->second;
  }

 private:
  std::map<Key, std::uint32_t> numbers_;
};

class Pricer {
 public:
  Pricer(const DeviceProfile& profile, int threads)
      : profile_(profile), threads_(threads), schedule_(std::make_shared<RankSchedule>()) {
    set_phase({});
  }

  PricedProgram price(const Program& program) {
    for (const Step& step : program.steps) std::visit([&](const auto& s) { add(s); }, step);
    schedule_->issued = issued_;
    return {schedule_, groups_};
  }

 private:
  void add(const AllocStep& s) {
    if (s.tensor.space == Space::device) hold(s.tensor.bytes());
  }
  void add(const ReleaseStep& s) {
    if (s.tensor.space == Space::device) hold(-s.tensor.bytes());
  }
  void add(const ReleaseSparseStep& s) { hold(-s.sparse.bytes()); }
  void add(const DeclareStep& s) {
    hold(s.sparse.bytes());
    // The copy of the pattern belongs to set-up, which has no time of its own in a result.
    item(s.lane, {LaneItem::Type::nothing, Lane::compute, phase_, 0, submitted(false)});
  }
  void add(const SubmitStep& s) {
    if (const auto* expose = std::get_if<Expose>(&s.op))
      space_of(expose->store) = expose->rows.space;
    if (const auto* pull = std::get_if<Pull>(&s.op))
      return item(s.lane, access(s.lane, s.op, *pull, pull->y, 0));
    if (const auto* push = std::get_if<Push>(&s.op))
      return item(s.lane, access(s.lane, s.op, *push, push->x, 1));
    if (const auto group = group_of(s.op))
      item(s.lane,
           {LaneItem::Type::call, s.lane, phase_, call(s.lane, *group, s.op), submitted(true)});
    else
      item(s.lane, {LaneItem::Type::work, s.lane, phase_, work(s.lane, s.op), submitted(false)});
  }
  void add(const WaitStep& s) {
    item(s.lane, {LaneItem::Type::wait, s.event.lane, phase_, s.event.position, issued_});
  }
  void add(const SyncStep& s) { host_waits(s.event.lane, s.event.position); }
  void add(const ScalarStep& s) { host_waits(s.lane, position(s.lane)); }
  void add(const HostStep& s) {
    item(s.lane, {LaneItem::Type::task, s.lane, phase_, task(s.work), submitted(false)});
    ORRERY_ASSERT(s.task.id == tasks_.size());
    tasks_.push_back({s.lane, position(s.lane)});
  }
  void add(const ProductStep&) {}
  void add(const JoinStep& s) { add(SyncStep{tasks_[s.task.id]}); }
  void add(const PhaseStep& s) {
    set_phase(s.phase);
    schedule_->host.push_back({HostItem::Type::phase, Lane::compute, phase_, issued_});
  }

  void hold(std::int64_t bytes) {
    if (bytes == 0) return;
    device_bytes_ += bytes;
    const auto index = static_cast<std::uint32_t>(schedule_->device_bytes.size());
    schedule_->device_bytes.push_back(device_bytes_);
    schedule_->host.push_back({HostItem::Type::memory, Lane::compute, index, issued_});
  }

  void set_phase(const Phase& phase) {
    loads_ = loads_ || (phase.stage == Stage::load && phase.in_epoch());
    operands_ = loads_ && phase.in_epoch() ? Operands::of_batches : Operands::of_graph;
    const std::uint32_t number =
        phase_numbers_.of({static_cast<int>(phase.stage), phase.epoch, phase.layer},
                          [&] { schedule_->phases.push_back(phase); });
    phase_ = static_cast<std::uint16_t>(number);
    if (phase_ != number)
      throw ConfigError("simulation.epochs",
                        fmt::format("a replay counts {} phases of epochs, but this one has more "
                                    "by epoch {}: replay fewer epochs, they are alike",
                                    number, phase.epoch));
  }
  std::uint32_t position(Lane lane) const {
    return static_cast<std::uint32_t>(schedule_->lanes[at(lane)].size());
  }
  void item(Lane lane, const LaneItem& item) { schedule_->lanes[at(lane)].push_back(item); }
  void host_waits(Lane lane, std::uint32_t position) {
    schedule_->host.push_back({HostItem::Type::sync, lane, position, issued_});
  }

  Issued submitted(bool call) {
    ++issued_.submits;
    issued_.calls += call ? 1 : 0;
    return issued_;
  }

  std::uint32_t kind(std::string_view name) {
    return kinds_.of(name, [&] { schedule_->kinds.push_back(name); });
  }

  std::uint32_t work(Lane lane, const Op& op) {
    const int threads = lane == Lane::compute ? threads_ : 1;
    return number_of({kind(kind_of(op)), threads, op_seconds(profile_, op, threads, operands_),
                      flops_of(op), bytes_of(op), 0});
  }

  std::uint32_t task(const HostWork& work) {
    const auto items = static_cast<double>(work.items);
    auto bytes = static_cast<double>(work.bytes);
    // Only the storage says how long files take; a profile of a device knows nothing of them.
    if (work.kind == kReadFiles) return number_of({kind("host"), work.threads, 0, 0, 0, bytes});
    double seconds = host_seconds(profile_, work.kind, items, bytes, work.threads);
    for (const HostWork& more : work.more) {
      seconds += host_seconds(profile_, more.kind, static_cast<double>(more.items),
                              static_cast<double>(more.bytes), more.threads);
      bytes += static_cast<double>(more.bytes);
    }
    // The name is that of the span in an Executor.
    return number_of({kind("host"), work.threads, seconds, 0, bytes, 0});
  }

  std::uint32_t number_of(const Work& w) {
    return works_.of({w.kind, w.threads, w.seconds, w.flops, w.bytes, w.file_bytes},
                     [&] { schedule_->works.push_back(w); });
  }

  std::uint32_t call(Lane lane, const Group& group, const Op& op) {
    Call c;
    c.kind = kind(kind_of(op));
    c.group = group_number(lane, group);
    c.received = bytes_of(op);
    std::vector<double> parts;
    std::visit([&](const auto& o) { describe(o, c, parts); }, op);
    if (!parts.empty()) c.parts = part_number(parts);
    return calls_.of(
        {static_cast<int>(c.what), c.kind, c.group, c.root, c.from, c.bytes, c.received, c.parts},
        [&] { schedule_->calls.push_back(c); });
  }

  /// `values`: the rows that are read, or what is added to them.
  template <class T>
  LaneItem access(Lane lane, const Op& op, const T& o, const Tensor& values, int adds) {
    StoreAccess a;
    a.kind = kind(kind_of(op));
    a.group = group_number(lane, o.store.group);
    a.adds = adds;
    a.mapped = space_of(o.store) == Space::server_host ? 1 : 0;
    a.row_bytes = static_cast<double>(values.cols() * orrery::bytes_of(values.dtype));
    a.flops = flops_of(op);
    a.bytes = bytes_of(op);
    std::vector<double> rows, seconds;
    for (const std::int64_t count : *o.rows_per_owner) {
      rows.push_back(static_cast<double>(count));
      seconds.push_back(
          count == 0 ? 0
                     : host_seconds(profile_, "serve", rows.back(), rows.back() * a.row_bytes, 1));
    }
    a.rows = part_number(rows);
    a.seconds = part_number(seconds);
    const std::uint32_t number =
        accesses_.of({a.kind, a.group, a.rows, a.seconds, a.mapped, a.row_bytes, a.flops, a.bytes},
                     [&] { schedule_->accesses.push_back(a); });
    return {LaneItem::Type::access, lane, phase_, number, submitted(true)};
  }

  Space& space_of(const Store& store) {
    for (auto& [known, space] : spaces_)
      if (known == store) return space;
    return spaces_.emplace_back(store, Space::host).second;
  }

  std::uint32_t group_number(Lane lane, const Group& group) {
    return group_numbers_.of(
        {static_cast<int>(lane), group.id, group.first, group.size, group.stride}, [&] {
          groups_.push_back({lane, group});
        });
  }
  std::uint32_t part_number(const std::vector<double>& parts) {
    return part_numbers_.of(parts, [&] { schedule_->parts.push_back(parts); });
  }

  static double size_of(const Tensor& t) { return static_cast<double>(t.bytes()); }
  /// Bytes of this many rows with a tensor's width.
  static std::vector<double> bytes_of_rows(const std::vector<std::int64_t>& rows, const Tensor& t) {
    std::vector<double> bytes;
    for (const std::int64_t r : rows)
      bytes.push_back(static_cast<double>(r * t.cols() * orrery::bytes_of(t.dtype)));
    return bytes;
  }
  static void describe(const SendRecv& o, Call& c, std::vector<double>&) {
    c.what = CollectiveKind::send_recv;
    if (o.send) c.root = o.to;
    if (o.recv) c.from = o.from;
    c.bytes = o.send ? size_of(*o.send) : 0;
  }
  static void describe(const Broadcast& o, Call& c, std::vector<double>&) {
    c.what = CollectiveKind::broadcast;
    c.root = o.root;
    c.bytes = size_of(o.x);
  }
  static void describe(const BroadcastSparse& o, Call& c, std::vector<double>&) {
    c.what = CollectiveKind::broadcast;
    c.root = o.root;
    c.bytes = static_cast<double>(o.a.bytes()) + size_of(o.values);
  }
  static void describe(const Reduce& o, Call& c, std::vector<double>&) {
    c.what = CollectiveKind::reduce;
    c.root = o.root;
    c.bytes = size_of(o.x);
  }
  static void describe(const AllReduce& o, Call& c, std::vector<double>&) {
    c.what = CollectiveKind::all_reduce;
    c.bytes = size_of(o.x);
  }
  static void describe(const ReduceScatter& o, Call& c, std::vector<double>& parts) {
    c.what = CollectiveKind::reduce_scatter;
    c.bytes = size_of(o.x);
    parts = bytes_of_rows(*o.rows, o.x);
  }
  static void describe(const AllGather& o, Call& c, std::vector<double>& parts) {
    c.what = CollectiveKind::all_gather;
    c.bytes = size_of(o.y);
    parts = bytes_of_rows(*o.rows, o.y);
  }
  static void describe(const AllToAllV& o, Call& c, std::vector<double>& parts) {
    c.what = CollectiveKind::all_to_all;
    c.bytes = size_of(o.x);
    parts = bytes_of_rows(*o.send_rows, o.x);
  }
  static void describe(const Expose&, Call& c, std::vector<double>&) { describe_meeting(c); }
  static void describe(const Withdraw&, Call& c, std::vector<double>&) { describe_meeting(c); }
  /// All must come before anyone continues.
  static void describe_meeting(Call& c) {
    c.what = CollectiveKind::all_reduce;
    c.bytes = 8;
  }
  template <class T>
  static void describe(const T&, Call&, std::vector<double>&) {
    static_assert(!Collective<T>);
    ORRERY_ASSERT(!"no collective");
  }

  const DeviceProfile& profile_;
  int threads_;
  std::shared_ptr<RankSchedule> schedule_;
  GroupTable groups_;
  std::uint16_t phase_ = 0;
  bool loads_ = false;  ///< batches, in its epochs
  Operands operands_ = Operands::of_graph;
  std::int64_t device_bytes_ = 0;
  Issued issued_;
  std::vector<Event> tasks_;  ///< by id: the points after them
  Numbers<std::string_view> kinds_;
  Numbers<std::tuple<int, int, int>> phase_numbers_;
  Numbers<std::tuple<std::uint32_t, int, double, double, double, double>> works_;
  Numbers<std::tuple<int, int, int, int, int>> group_numbers_;
  Numbers<std::vector<double>> part_numbers_;
  Numbers<std::tuple<int, std::uint32_t, std::uint32_t, int, int, double, double, std::uint32_t>>
      calls_;
  Numbers<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t,
                     double, double, double>>
      accesses_;
  std::vector<std::pair<Store, Space>> spaces_;  ///< of the rows in each store when it last opened
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ULL ^ (hash >> 29);
}

/// Hash of the order of items and the sizes of the tables: equal schedules have equal ones.
std::uint64_t fingerprint(const RankSchedule& s) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const auto& lane : s.lanes)
    for (const LaneItem& item : lane)
      hash = mix(hash, (static_cast<std::uint64_t>(item.index) << 32) | item.issued.submits);
  for (const Work& w : s.works) hash = mix(hash, static_cast<std::uint64_t>(w.seconds * 1e15));
  return mix(hash, s.host.size());
}

}  // namespace

PricedProgram price(const Program& program, const DeviceProfile& profile, int threads) {
  return Pricer(profile, threads).price(program);
}

std::shared_ptr<const RankSchedule> ScheduleInterner::intern(
    std::shared_ptr<const RankSchedule> schedule) {
  const std::uint64_t hash = fingerprint(*schedule);
  for (const auto& [known_hash, known] : known_)
    if (known_hash == hash && *known == *schedule) return known;
  known_.emplace_back(hash, schedule);
  return schedule;
}

}  // namespace orrery::sim
