#include "sim/replay/traffic.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::sim {

namespace {

/// The first host of each server.
std::vector<int> host_nodes(const Cluster& cluster) {
  std::vector<int> hosts(at(cluster.servers()), -1);
  for (std::size_t n = cluster.nodes.size(); n-- > 0;)
    if (cluster.nodes[n].kind == NodeKind::kHost)
      hosts[at(cluster.nodes[n].server)] = static_cast<int>(n);
  return hosts;
}

/// From the host of a server to those of others, numbered from `first`.
std::vector<Route> routes_between_hosts(const Router& router, const std::vector<int>& hosts,
                                        int server, int first, const std::vector<int>& ends) {
  std::vector<int> nodes;
  for (const int end : ends) nodes.push_back(hosts[at(end - first)]);
  ORRERY_ASSERT(hosts[at(server)] >= 0);  // servers are alike
  return router.between_nodes(hosts[at(server)], nodes);
}

}  // namespace

int memory_end(const Cluster& cluster, int device) {
  if (!cluster.has_hosts()) return device;
  return static_cast<int>(cluster.devices.size()) + cluster.server_of(device);
}

int storage_end(const Cluster& cluster) {
  return static_cast<int>(cluster.devices.size()) + cluster.servers();
}

Traffic::Traffic(const Cluster& cluster, const std::vector<Pair>& pairs) {
  const int devices = static_cast<int>(cluster.devices.size());
  std::map<int, std::vector<int>> targets;
  for (const auto& [from, to] : pairs) targets[from].push_back(to);
  const Router router(cluster);
  const std::vector<int> hosts = host_nodes(cluster);
  plan_.ends = devices;
  for (const auto& [from, list] : targets) {
    if (from == storage_end(cluster)) {
      for (const int to : list) connect_to_storage(cluster, to);
      continue;
    }
    const bool host = from >= devices;
    if (host) plan_.ends = std::max(plan_.ends, devices + cluster.servers());
    const std::vector<Route> routes =
        host ? routes_between_hosts(router, hosts, from - devices, devices, list)
             : router.from(from, list);
    for (std::size_t i = 0; i < list.size(); ++i) {
      numbers_of_pairs_.emplace(key({from, list[i]}), static_cast<int>(paths_.size()));
      paths_.push_back({routes[i].latency_seconds, routes[i].bytes_per_second});
      std::vector<int> capacities;
      for (const Hop& hop : routes[i].hops) add_capacities(cluster, hop, capacities);
      plan_.connections.push_back({from, list[i], std::move(capacities)});
    }
  }
}

/// A device's files pass what its server can read and, if servers share a file system, what all can.
void Traffic::connect_to_storage(const Cluster& cluster, int device) {
  const FileStorage& storage = cluster.storage;
  const int from = storage_end(cluster);
  const auto number_of = [&](int key, const std::string& name, double rate) {
    const auto [found, added] = numbers_.try_emplace(key, static_cast<int>(capacities_.size()));
    if (added) {
      capacities_.push_back({{name, "storage", rate, 0, 0}, 0, 0});
      plan_.bytes_per_second.push_back(rate);
    }
    return found->second;
  };
  const int server = cluster.server_of(device);
  std::vector<int> list{number_of(-2 - server, fmt::format("storage > s{}", server),
                                  storage.server_bytes_per_second)};
  double rate = storage.server_bytes_per_second;
  if (storage.shared_bytes_per_second > 0) {
    list.push_back(number_of(-1, "storage", storage.shared_bytes_per_second));
    rate = std::min(rate, storage.shared_bytes_per_second);
  }
  numbers_of_pairs_.emplace(key({from, device}), static_cast<int>(paths_.size()));
  paths_.push_back({storage.latency_seconds, rate});
  plan_.connections.push_back({from, device, std::move(list)});
  plan_.ends = from + 1;
}

/// Two directions that share a total pass one capacity more than their own. Its latency is 0,
/// because a path's latency does not come from capacities.
void Traffic::add_capacities(const Cluster& cluster, const Hop& hop, std::vector<int>& list) {
  const ClusterLink& link = cluster.links[at(hop.link)];
  if (link.duplex == Duplex::kFull)
    list.push_back(capacity(cluster, link, hop.link, hop.forward ? Way::forward : Way::backward));
  if (link.duplex == Duplex::kShared || directions_meet(link))
    list.push_back(capacity(cluster, link, hop.link, Way::both));
}

int Traffic::capacity(const Cluster& cluster, const ClusterLink& link, int number, Way way) {
  const auto [at, added] = numbers_.try_emplace(3 * number + static_cast<int>(way),
                                                static_cast<int>(capacities_.size()));
  if (!added) return at->second;
  const auto name = [&](int node) { return cluster.nodes[orrery::at(node)].name; };
  const bool backward = way == Way::backward;
  const double rate = way == Way::both ? both_directions(link) : link.bytes_per_second;
  // A separate type, so that sums over a type's links count bytes once.
  const char* suffix = way == Way::both && link.duplex == Duplex::kFull ? " (both ways)" : "";
  capacities_.push_back(
      {{fmt::format("{} {} {}", name(backward ? link.to : link.from), way == Way::both ? "-" : ">",
                    name(backward ? link.from : link.to)),
        link.type + suffix, rate, 0, 0},
       0,
       0});
  plan_.bytes_per_second.push_back(rate);
  return at->second;
}

void Traffic::begin(int connection, double bytes, double now) {
  for (const int c : capacities_of(connection)) {
    Capacity& capacity = capacities_[at(c)];
    capacity.use.bytes += bytes;
    if (capacity.under_way++ == 0) capacity.busy_since = now;
  }
}

void Traffic::end(int connection, double now) {
  for (const int c : capacities_of(connection)) {
    Capacity& capacity = capacities_[at(c)];
    if (--capacity.under_way == 0) capacity.use.busy_seconds += now - capacity.busy_since;
  }
}

std::vector<LinkUse> Traffic::use() const {
  std::vector<LinkUse> list;
  for (const Capacity& c : capacities_)
    if (c.use.bytes > 0) list.push_back(c.use);
  return list;
}

}  // namespace orrery::sim
