#include "sim/replay/calls.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

/// Expansions are kept for the next equal collective, up to this many messages in all.
constexpr std::int64_t kMostKept = 2'000'000;
/// A replay needs less for each.
constexpr std::int64_t kMostKeptInReplay = 6'000'000;

using Parts = std::shared_ptr<const std::vector<double>>;
bool less(const Parts& a, const Parts& b) { return *a < *b; }

/// The two ends of a message as a group, in ascending order.
Group pair_of(const CallKey& key) {
  const int a = key.group.rank_of(key.from), b = key.group.rank_of(key.to);
  return {key.group.id, std::min(a, b), a == b ? 1 : 2, std::max(1, std::abs(a - b))};
}

}  // namespace

std::size_t CallKeyHash::operator()(const CallKey& key) const {
  std::size_t hash = 0;
  for (const int part :
       {static_cast<int>(key.lane), static_cast<int>(key.group.id), key.group.first, key.group.size,
        key.group.stride, key.from, key.to, key.sequence})
    hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15ULL;
  return hash;
}

bool copied(const Simulation& simulation, int from_device, int to_device) {
  if (from_device == to_device) return true;
  const auto& devices = simulation.cluster.devices;
  return simulation.library.copy_bytes_per_second.known() && devices[at(from_device)].cores > 0 &&
         simulation.cluster.server_of(from_device) == simulation.cluster.server_of(to_device);
}

CallBook::CallBook(const Simulation& simulation, const Traffic* traffic)
    : s_(simulation),
      traffic_(traffic),
      planner_(simulation.cluster, simulation.library, simulation.collectives),
      messages_(at(simulation.ranks())),
      matrices_(&less),
      devices_(simulation.devices) {
  for (const PricedProgram& program : s_.programs)
    most_groups_ = std::max(most_groups_, program.groups.size());
  collectives_.resize(most_groups_ * at(simulation.ranks()), 0);
  for (const int device : devices_) servers_.push_back(simulation.cluster.server_of(device));
}

CallKeys CallBook::next(int rank, const Call& call, const GroupUse& use) {
  if (call.what != CollectiveKind::send_recv) {
    CallKeys keys;
    int& met = collectives_[at(rank) * most_groups_ + call.group];
    keys.push_back({use.lane, use.group, -1, -1, met++});
    return keys;
  }
  const auto key = [&](int from, int to) {
    CallKey meeting{use.lane, use.group, from, to, 0};
    meeting.sequence = messages_[at(rank)][meeting]++;
    return meeting;
  };
  const int me = use.group.index_of(rank);
  CallKeys keys;
  if (call.root >= 0) keys.push_back(key(me, call.root));
  if (call.from >= 0) keys.push_back(key(call.from, me));
  return keys;
}

std::shared_ptr<const CallPlan> CallBook::plan(const CallKey& key, int rank, const Call& call) {
  if (call.what != CollectiveKind::send_recv) {
    const Parts parts = parts_of(key, rank, call);
    return plan({key.group, call.what, call.root, call.bytes, parts.get()}, parts);
  }
  const bool sends = key.group.rank_of(key.from) == rank;
  const double bytes = sends ? call.bytes : call.received;
  const Group pair = pair_of(key);
  if (pair.size == 1) return plan({pair, call.what, -1, bytes, nullptr}, nullptr);
  const bool upwards = pair.index_of(key.group.rank_of(key.to)) == 1;
  const Parts parts =
      same(upwards ? std::vector<double>{0, bytes, 0, 0} : std::vector<double>{0, 0, bytes, 0});
  return plan({pair, call.what, -1, bytes, parts.get()}, parts);
}

std::shared_ptr<const CallPlan> CallBook::plan(const PlanKey& key, Parts parts) {
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  CollectiveShape shape{key.kind, key.members.size, std::max(0, key.root), key.bytes,
                        std::move(parts)};
  Expansion made = planner_.expand(shape, places(key.members));
  const auto count = static_cast<std::int64_t>(made.messages.size());
  auto plan = std::make_shared<CallPlan>();
  plan->kind = key.kind;
  plan->bytes = key.bytes;
  plan->members = key.members;
  plan->algorithm = made.algorithm;
  if (traffic_ != nullptr)
    plan->messages = messages_of(key, made);
  else
    plan->expansion = std::make_shared<const PreparedExpansion>(std::move(made), key.members.size);
  if (kept_messages_ + count <= (traffic_ != nullptr ? kMostKeptInReplay : kMostKept)) {
    plans_.emplace(key, plan);
    kept_messages_ += count;
  }
  return plan;
}

MessagePlan CallBook::messages_of(const PlanKey& key, const Expansion& expansion) {
  const Group& members = key.members;
  MessagePlan plan{orders_.intern(expansion), {}, {}};
  plan.paths.reserve(expansion.messages.size());
  std::vector<std::pair<std::int32_t, std::int32_t>> touch;
  touch.reserve(2 * expansion.messages.size());
  for (const Message& message : expansion.messages) {
    const int a = members.rank_of(message.from), b = members.rank_of(message.to);
    const int from = devices_[at(a)], to = devices_[at(b)];
    const auto number = static_cast<std::int32_t>(plan.paths.size());
    plan.paths.push_back(
        {message.from, message.to,
         copied(s_, from, to) ? CallPlan::kCopied : traffic_->connection({from, to}),
         servers_[at(a)] != servers_[at(b)], false, true, true});
    const auto comes_after = [&](std::int32_t before) {
      if (plan.awaits_external(before)) plan.paths.back().after_external = true;
    };
    for (std::int32_t w = 0; w < message.waits; ++w)
      comes_after(expansion.waits[at(message.first_wait + w)]);
    if (message.streams >= 0) comes_after(message.streams);
    touch.emplace_back(message.from, number);
    touch.emplace_back(message.to, number);
  }
  plan.touching = Lists(members.size, touch);
  // A rank of two messages may have one of them inside its server and the other not.
  if (key.kind == CollectiveKind::send_recv) return plan;
  std::vector<bool> awaits_others(at(members.size), false);
  for (const MessagePlan::Path& path : plan.paths)
    if (path.external || path.after_external)
      awaits_others[at(path.from)] = awaits_others[at(path.to)] = true;
  for (MessagePlan::Path& path : plan.paths) {
    path.divides_from = awaits_others[at(path.from)];
    path.divides_to = awaits_others[at(path.to)];
  }
  return plan;
}

/// The data that the ranks of a collective move apiece, the same object for equal contents.
Parts CallBook::parts_of(const CallKey& key, int rank, const Call& call) {
  if (call.parts == Call::kNoParts) return nullptr;
  const auto own = [&](int r, const Call& c) -> const std::vector<double>& {
    return s_.programs[at(r)].schedule->parts[c.parts];
  };
  std::vector<double> parts;
  if (call.what == CollectiveKind::all_to_all) {
    for (int i = 0; i < key.group.size; ++i) {
      const int r = key.group.rank_of(i);
      const std::uint32_t theirs = calls_of(r, key.lane, key.group)[at(key.sequence)];
      const auto& row = own(r, s_.programs[at(r)].schedule->calls[theirs]);
      parts.insert(parts.end(), row.begin(), row.end());
    }
  } else {
    parts = own(rank, call);
  }
  return same(std::move(parts));
}

Parts CallBook::same(std::vector<double> parts) {
  return *matrices_.insert(std::make_shared<const std::vector<double>>(std::move(parts))).first;
}

const std::vector<std::uint32_t>& CallBook::calls_of(int rank, Lane lane, const Group& group) {
  const PricedProgram& program = s_.programs[at(rank)];
  const GroupUse use{lane, group};
  const auto number = static_cast<std::uint32_t>(
      std::find(program.groups.begin(), program.groups.end(), use) - program.groups.begin());
  const auto [found, is_new] = calls_.try_emplace({program.schedule.get(), number});
  if (is_new)
    for (const LaneItem& item : program.schedule->lanes[at(static_cast<int>(lane))])
      if (item.type == LaneItem::Type::call &&
          program.schedule->calls[item.index].group == number &&
          program.schedule->calls[item.index].what != CollectiveKind::send_recv)
        found->second.push_back(item.index);
  return found->second;
}

const GroupPlaces& CallBook::places(const Group& members) {
  const auto [found, is_new] = places_.try_emplace({members.first, members.size, members.stride});
  if (is_new)
    for (int i = 0; i < members.size; ++i) {
      const int device = s_.devices[at(members.rank_of(i))];
      found->second.device.push_back(device);
      found->second.server.push_back(s_.cluster.server_of(device));
    }
  return found->second;
}

void CallBook::count(const CallPlan& plan) {
  const std::string& algorithm = plan.algorithm;
  AlgorithmUse& use = uses_[{plan.kind, plan.members.size, algorithm}];
  if (use.calls++ == 0) use = {plan.kind, plan.members.size, algorithm, plan.bytes, plan.bytes, 1};
  use.least_bytes = std::min(use.least_bytes, plan.bytes);
  use.most_bytes = std::max(use.most_bytes, plan.bytes);
}

std::vector<AlgorithmUse> CallBook::algorithms() const {
  std::vector<AlgorithmUse> list;
  for (const auto& [key, use] : uses_) list.push_back(use);
  return list;
}

std::set<Traffic::Pair> CallBook::connected_pairs() {
  std::set<Traffic::Pair> pairs;
  // What each device was seen to send to last: most messages take ways that are known.
  std::vector<std::array<int, 4>> recent(s_.cluster.devices.size(), {-1, -1, -1, -1});
  const auto connect = [&](int from_rank, int to_rank) {
    const int from = s_.devices[at(from_rank)], to = s_.devices[at(to_rank)];
    auto& known = recent[at(from)];
    if (std::find(known.begin(), known.end(), to) != known.end()) return;
    std::rotate(known.begin(), known.end() - 1, known.end());
    known.front() = to;
    if (!copied(s_, from, to)) {
      pairs.emplace(from, to);
    } else if (!s_.library.copy_bytes_per_second.known()) {
      throw ConfigError("cluster",
                        fmt::format("ranks {} and {} share the device {}, but the library \"{}\" "
                                    "cannot send within a device: use one rank per device",
                                    from_rank, to_rank, s_.cluster.name_of(from), s_.library.name));
    }
  };
  std::set<PlanKey> seen;
  std::set<std::tuple<const RankSchedule*, std::vector<std::tuple<int, int, int, int>>>> done;
  for (int r = 0; r < s_.ranks(); ++r) {
    const PricedProgram& program = s_.programs[at(r)];
    std::vector<std::tuple<int, int, int, int>> groups;
    for (const GroupUse& use : program.groups)
      groups.emplace_back(static_cast<int>(use.lane), use.group.first, use.group.size,
                          use.group.stride);
    bool sends = false;
    for (const Call& call : program.schedule->calls)
      sends = sends || call.what == CollectiveKind::send_recv;
    if (!sends && !done.emplace(program.schedule.get(), groups).second) continue;
    for (const Call& call : program.schedule->calls) {
      const Group& group = program.groups[call.group].group;
      if (call.what == CollectiveKind::send_recv) {
        if (call.root >= 0) connect(r, group.rank_of(call.root));
      } else if (call.what == CollectiveKind::all_to_all) {
        if (!seen.insert({group, call.what, -1, 0, nullptr}).second) continue;
        for (int i = 0; i < group.size; ++i)
          for (int j = 0; j < group.size; ++j)
            if (i != j) connect(group.rank_of(i), group.rank_of(j));
      } else {
        const CallKey key{program.groups[call.group].lane, group, -1, -1, 0};
        const Parts parts = parts_of(key, r, call);
        const PlanKey which{group, call.what, call.root, call.bytes, parts.get()};
        if (!seen.insert(which).second) continue;
        const CollectiveShape shape{call.what, group.size, std::max(0, call.root), call.bytes,
                                    parts};
        for (const Message& m : planner_.expand(shape, places(group)).messages)
          connect(group.rank_of(m.from), group.rank_of(m.to));
      }
    }
  }
  return pairs;
}

}  // namespace orrery::sim
