// Schedules and clusters written by hand, small enough that their times can be derived on paper.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "sim/network/fluid_interconnect.hpp"
#include "sim/network/simgrid_interconnect.hpp"
#include "sim/replay/replay.hpp"
#include "tests/sim/network/in_child.hpp"

namespace orrery::sim {

/// Two ranks.
inline const Group kPair{0, 0, 2, 1};
/// Of seconds that follow from a few operations.
inline constexpr double kExact = 1e-11;

/// One rank's program, in the order of issue.
class Script {
 public:
  Script() {
    schedule_.phases = {{}, {Stage::forward, 0}, {Stage::evaluate, 0}};
    schedule_.kinds = {kind_named("spmm"), kind_named("broadcast"), "host"};
    mark(1);
  }
  void work(Lane lane, double seconds, int threads = 1) {
    schedule_.works.push_back({0, threads, seconds, 0, 0});
    item(lane, LaneItem::Type::work, schedule_.works.size() - 1);
  }
  /// A task of the host; its bytes pass the host's memory.
  void task(Lane lane, double seconds, int threads = 1, double bytes = 0) {
    schedule_.works.push_back({2, threads, seconds, 0, bytes});
    item(lane, LaneItem::Type::task, schedule_.works.size() - 1);
  }
  /// A task of the host that reads so many bytes of files.
  void read(double bytes) {
    schedule_.works.push_back({2, 1, 0, 0, 0, bytes});
    item(Lane::host, LaneItem::Type::task, schedule_.works.size() - 1);
    sync(Lane::host);
  }
  void call(Lane lane, const Group& group, Call call) {
    call.group = group_number(lane, group);
    call.kind = 1;
    schedule_.calls.push_back(call);
    item(lane, LaneItem::Type::call, schedule_.calls.size() - 1);
  }
  /// Bytes for each rank, which calls name by their number.
  void parts(const std::vector<double>& bytes) { schedule_.parts.push_back(bytes); }
  /// So many rows of each rank of the group, of 512 bytes; each owner takes so long for them.
  void access(Lane lane, const Group& group, const std::vector<double>& rows, double seconds,
              bool adds = false) {
    StoreAccess a;
    a.kind = 1;
    a.group = group_number(lane, group);
    a.adds = adds ? 1 : 0;
    a.row_bytes = 512;
    for (const auto& part : {rows, std::vector<double>(rows.size(), seconds)})
      schedule_.parts.push_back(part);
    a.rows = static_cast<std::uint32_t>(schedule_.parts.size()) - 2;
    a.seconds = a.rows + 1;
    schedule_.accesses.push_back(a);
    item(lane, LaneItem::Type::access, schedule_.accesses.size() - 1);
  }
  void broadcast(Lane lane, const Group& group, int root, double bytes) {
    call(lane, group, {CollectiveKind::broadcast, 1, 0, root, -1, bytes, bytes});
  }
  /// Every rank sends this many bytes to each other rank.
  void all_to_all(Lane lane, const Group& group, double bytes) {
    call(lane, group, {CollectiveKind::all_to_all, 1, 0, -1, -1, bytes, bytes});
  }
  void all_reduce(Lane lane, const Group& group, double bytes) {
    call(lane, group, {CollectiveKind::all_reduce, 1, 0, -1, -1, bytes, bytes});
  }
  void send(Lane lane, const Group& group, int to, double bytes) {
    call(lane, group, {CollectiveKind::send_recv, 1, 0, to, -1, bytes, 0});
  }
  void receive(Lane lane, const Group& group, int from, double bytes) {
    call(lane, group, {CollectiveKind::send_recv, 1, 0, -1, from, 0, bytes});
  }
  /// The lane waits for everything that the other was given so far.
  void wait(Lane lane, Lane other) { wait(lane, other, position(other)); }
  void wait(Lane lane, Lane other, std::uint32_t position) {
    lane_of(lane).push_back({LaneItem::Type::wait, other, 1, position, schedule_.issued});
  }
  std::uint32_t position(Lane lane) { return static_cast<std::uint32_t>(lane_of(lane).size()); }
  void sync(Lane lane) {
    schedule_.host.push_back({HostItem::Type::sync, lane, position(lane), schedule_.issued});
  }
  /// From here on this many device bytes are in use.
  void hold(std::int64_t bytes) {
    schedule_.host.push_back({HostItem::Type::memory, Lane::compute,
                              static_cast<std::uint32_t>(schedule_.device_bytes.size()),
                              schedule_.issued});
    schedule_.device_bytes.push_back(bytes);
  }
  PricedProgram done() {
    for (const Lane lane : {Lane::compute, Lane::comm, Lane::comm2, Lane::copy}) sync(lane);
    mark(2);
    return {std::make_shared<RankSchedule>(schedule_), groups_};
  }

 private:
  std::vector<LaneItem>& lane_of(Lane lane) {
    return schedule_.lanes[static_cast<std::size_t>(lane)];
  }
  void item(Lane lane, LaneItem::Type type, std::size_t index) {
    ++schedule_.issued.submits;
    schedule_.issued.calls += type == LaneItem::Type::call ? 1 : 0;
    lane_of(lane).push_back({type, lane, 1, static_cast<std::uint32_t>(index), schedule_.issued});
  }
  std::uint32_t group_number(Lane lane, const Group& group) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g] == GroupUse{lane, group}) return static_cast<std::uint32_t>(g);
    groups_.push_back({lane, group});
    return static_cast<std::uint32_t>(groups_.size()) - 1;
  }
  void mark(std::uint32_t phase) {
    schedule_.host.push_back({HostItem::Type::phase, Lane::compute, phase, schedule_.issued});
  }
  RankSchedule schedule_;
  GroupTable groups_;
};

/// Servers of devices on one switch each; servers joined by one NIC each on another switch.
struct StarCluster {
  int servers = 1, devices_per_server = 2;
  double device_rate = 10e9, device_latency = 1e-6, nic_rate = 1e9, nic_latency = 5e-6;
  int cores = 0;       ///< of a device
  int host_cores = 0;  ///< a host beside the devices of each server, if not 0
  double host_bytes_per_second = 0;

  Cluster make() const {
    Cluster c;
    c.name = "star";
    c.host.cores = host_cores;
    c.host.memory_bytes_per_second = host_bytes_per_second;
    const auto node = [&](const std::string& name, NodeKind kind, int server) {
      c.nodes.push_back({name, kind, server});
      return static_cast<int>(c.nodes.size()) - 1;
    };
    const int network = servers > 1 ? node("network", NodeKind::kNetworkSwitch, kNoServer) : -1;
    for (int s = 0; s < servers; ++s) {
      const int hub = node(fmt::format("s{}/hub", s), NodeKind::kLocalSwitch, s);
      if (host_cores > 0) {
        const int cpu = node(fmt::format("s{}/cpu", s), NodeKind::kHost, s);
        c.links.push_back({cpu, hub, 1e15, 0, Duplex::kFull, "bus", 1});
      }
      for (int d = 0; d < devices_per_server; ++d) {
        const int device = node(fmt::format("s{}/gpu{}", s, d), NodeKind::kDevice, s);
        c.devices.push_back({device, "gpu", "gpu", 1 << 30, 1e12, 1e12, cores});
        c.links.push_back({device, hub, device_rate, device_latency / 2, Duplex::kFull, "bus", 1});
      }
      if (network < 0) continue;
      const int nic = node(fmt::format("s{}/nic", s), NodeKind::kNic, s);
      c.links.push_back({hub, nic, 1e15, 0, Duplex::kFull, "bus", 1});
      c.links.push_back({nic, network, nic_rate, nic_latency / 2, Duplex::kFull, "net", 1});
    }
    return c;
  }
};

inline Simulation simulation_of(const Cluster& cluster, std::vector<PricedProgram> programs) {
  Simulation s;
  s.cluster = cluster;
  for (std::size_t r = 0; r < programs.size(); ++r) s.devices.push_back(static_cast<int>(r));
  s.programs = std::move(programs);
  s.library.name = "nccl";
  return s;
}

/// What `work` makes of a simulation's network: SimGrid's, after the fluid engine has said the same.
inline std::vector<double> on_both_engines(
    const Simulation& simulation,
    const std::function<std::vector<double>(Traffic&, Interconnect&)>& work) {
  const auto on = [&](const auto& make) {
    Traffic traffic(simulation.cluster, connected_pairs(simulation));
    const auto network = make(traffic.plan());
    return work(traffic, *network);
  };
  const auto simgrid = in_child([&] { return on(make_simgrid_interconnect); });
  const auto fluid = on(make_fluid_interconnect);
  EXPECT_EQ(fluid.size(), simgrid.size());
  for (std::size_t i = 0; i < std::min(fluid.size(), simgrid.size()); ++i)
    EXPECT_NEAR(fluid[i], simgrid[i], 1e-9 * std::abs(simgrid[i]) + 1e-12) << "number " << i;
  return simgrid;
}

/// The parts of the epoch of a rank: inside its server, between servers, all of it.
inline std::vector<double> breakdown_of(const Simulation& simulation, int rank) {
  return on_both_engines(simulation, [&](Traffic& traffic, Interconnect& network) {
    const EpochCost cost =
        replay(simulation, traffic, network).epochs[static_cast<std::size_t>(rank)].at(0);
    return std::vector<double>{cost.breakdown.internal, cost.breakdown.external, cost.seconds,
                               cost.breakdown.total()};
  });
}

/// The time of the epoch on each rank.
inline std::vector<double> seconds_of(const Simulation& simulation) {
  return on_both_engines(simulation, [&](Traffic& traffic, Interconnect& network) {
    std::vector<double> seconds;
    for (const auto& rank : replay(simulation, traffic, network).epochs)
      seconds.push_back(rank.at(0).seconds);
    return seconds;
  });
}

}  // namespace orrery::sim
