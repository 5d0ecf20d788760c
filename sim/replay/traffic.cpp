#include "sim/replay/traffic.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/cluster/file_rate.hpp"

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
      std::vector<int> capacities;
      for (const Hop& hop : routes[i].hops) add_capacities(cluster, hop, capacities);
      connect({from, list[i]}, {routes[i].latency_seconds, routes[i].bytes_per_second},
              std::move(capacities));
    }
  }
  for (auto& targets_of_end : from_) std::sort(targets_of_end.begin(), targets_of_end.end());
}

void Traffic::connect(Pair pair, const Path& path, std::vector<int> capacities) {
  if (at(pair.first) >= from_.size()) from_.resize(at(pair.first) + 1);
  from_[at(pair.first)].emplace_back(pair.second, static_cast<int>(paths_.size()));
  paths_.push_back(path);
  plan_.connections.push_back({pair.first, pair.second, std::move(capacities)});
}

int Traffic::connection(Pair pair) const {
  const auto& targets = from_[at(pair.first)];
  const auto found = std::lower_bound(targets.begin(), targets.end(), std::pair{pair.second, 0});
  ORRERY_ASSERT(found != targets.end() && found->first == pair.second);
  return found->second;
}

/// A device's files pass what its server can read and, if servers share a file system, what all can.
void Traffic::connect_to_storage(const Cluster& cluster, int device) {
  const FileStorage& storage = cluster.storage;
  const int from = storage_end(cluster);
  const auto number_of = [&](int key, const std::string& name, double rate) {
    const auto [found, added] = numbers_.try_emplace(key, static_cast<int>(names_.size()));
    if (added) {
      names_.push_back({name, "storage", rate, 0, 0});
      loads_.emplace_back();
      plan_.bytes_per_second.push_back(rate);
    }
    return found->second;
  };
  const int server = cluster.server_of(device);
  double rate = file_rate(cluster, server);
  std::vector<int> list{number_of(-2 - server, fmt::format("storage > s{}", server), rate)};
  if (storage.shared_bytes_per_second > 0) {
    list.push_back(number_of(-1, "storage", storage.shared_bytes_per_second));
    rate = std::min(rate, storage.shared_bytes_per_second);
  }
  connect({from, device}, {storage.latency_seconds, rate}, std::move(list));
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
  const auto [at, added] =
      numbers_.try_emplace(3 * number + static_cast<int>(way), static_cast<int>(names_.size()));
  if (!added) return at->second;
  const auto name = [&](int node) { return cluster.nodes[orrery::at(node)].name; };
  const bool backward = way == Way::backward;
  const double rate = way == Way::both ? both_directions(link) : link.bytes_per_second;
  // A separate type, so that sums over a type's links count bytes once.
  const char* suffix = way == Way::both && link.duplex == Duplex::kFull ? " (both ways)" : "";
  names_.push_back({fmt::format("{} {} {}", name(backward ? link.to : link.from),
                                way == Way::both ? "-" : ">", name(backward ? link.from : link.to)),
                    link.type + suffix, rate, 0, 0});
  loads_.emplace_back();
  plan_.bytes_per_second.push_back(rate);
  return at->second;
}

void Traffic::begin(int connection, double bytes, double now) {
  for (const int c : capacities_of(connection)) {
    Load& load = loads_[at(c)];
    load.bytes += bytes;
    if (load.under_way++ == 0) load.busy_since = now;
  }
}

void Traffic::end(int connection, double now) {
  for (const int c : capacities_of(connection)) {
    Load& load = loads_[at(c)];
    if (--load.under_way == 0) load.busy_seconds += now - load.busy_since;
  }
}

std::vector<LinkUse> Traffic::use() const {
  std::vector<LinkUse> list;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (loads_[c].bytes <= 0) continue;
    list.push_back(names_[c]);
    list.back().bytes = loads_[c].bytes;
    list.back().busy_seconds = loads_[c].busy_seconds;
  }
  return list;
}

}  // namespace orrery::sim
