#include "core/cluster/cluster.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/cluster/routes.hpp"

namespace orrery {
namespace {

void validate_nodes(const Cluster& cluster) {
  std::set<std::string> names;
  for (const ClusterNode& node : cluster.nodes) {
    if (node.name.empty()) throw ConfigError("nodes", "a node has no name");
    if (!names.insert(node.name).second)
      throw ConfigError(node.name, "duplicate name: two nodes have it");
    if ((node.kind == NodeKind::kNetworkSwitch) != (node.server == kNoServer))
      throw ConfigError(node.name, fmt::format("a {} {} a server", to_string(node.kind),
                                               node.server == kNoServer ? "needs" : "has not"));
  }
}

void validate_both_directions(const ClusterLink& link, const std::string& name) {
  const double both = link.both_bytes_per_second, one = link.bytes_per_second;
  if (both == 0) return;
  if (link.duplex == Duplex::kShared)
    throw ConfigError(name,
                      "both_bytes_per_second is for full duplex; a shared rate covers both "
                      "directions");
  if (!(both >= one) || !(both <= 2 * one))
    throw ConfigError(name, fmt::format("found {} bytes per second in both directions together, "
                                        "expected {} to {}: once to twice the rate of one",
                                        both, one, 2 * one));
}

void validate_links(const Cluster& cluster) {
  const auto known = [&](int end) {
    return end >= 0 && end < static_cast<int>(cluster.nodes.size());
  };
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    const ClusterLink& link = cluster.links[i];
    if (!known(link.from) || !known(link.to))
      throw ConfigError(fmt::format("link {} ({})", i, link.type),
                        fmt::format("unknown end: node {} of {}",
                                    known(link.from) ? link.to : link.from, cluster.nodes.size()));
    const std::string name = fmt::format("{} {} - {}", link.type, cluster.nodes[at(link.from)].name,
                                         cluster.nodes[at(link.to)].name);
    if (link.from == link.to) throw ConfigError(name, "links a node to itself");
    if (!(link.bytes_per_second > 0) || !std::isfinite(link.bytes_per_second))
      throw ConfigError(name, fmt::format("found {} bytes per second, expected a value > 0",
                                          link.bytes_per_second));
    validate_both_directions(link, name);
    if (!(link.latency_seconds >= 0) || !std::isfinite(link.latency_seconds))
      throw ConfigError(name, fmt::format("found a latency of {} s, expected a value >= 0",
                                          link.latency_seconds));
  }
}

void validate_devices(const Cluster& cluster) {
  if (cluster.devices.empty()) throw ConfigError(cluster.name, "has no device");
  std::set<int> nodes;
  for (const Device& device : cluster.devices) {
    if (device.node < 0 || device.node >= static_cast<int>(cluster.nodes.size()))
      throw ConfigError("devices", fmt::format("unknown node {}", device.node));
    const ClusterNode& node = cluster.nodes[at(device.node)];
    if (node.kind != NodeKind::kDevice)
      throw ConfigError(node.name, fmt::format("is a {}, not a device", to_string(node.kind)));
    if (!nodes.insert(device.node).second) throw ConfigError(node.name, "has two ranks");
    if (device.memory_bytes <= 0 || !(device.memory_bytes_per_second > 0) ||
        !(device.flops_per_second > 0))
      throw ConfigError(node.name, "memory, its rate and the FLOP rate must be > 0");
  }
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n)
    if (cluster.nodes[n].kind == NodeKind::kDevice && !nodes.contains(static_cast<int>(n)))
      throw ConfigError(cluster.nodes[n].name, "is a device without a rank");
}

void validate_host(const Cluster& cluster) {
  const ServerHost& host = cluster.host;
  if (host.cores < 0 || host.memory_bytes < 0 || host.pinned_bytes < 0 ||
      !(host.memory_bytes_per_second >= 0) || !std::isfinite(host.memory_bytes_per_second))
    throw ConfigError(cluster.name, "cores, memory and rates of a host must not be negative");
  if (host.memory_bytes > 0 && host.pinned_bytes > host.memory_bytes)
    throw ConfigError(cluster.name,
                      fmt::format("found {} bytes that may be pinned, expected at most the {} of "
                                  "the host's memory",
                                  host.pinned_bytes, host.memory_bytes));
  if (host.cores == 0 || cluster.has_hosts()) return;
  for (int rank = 0; rank < static_cast<int>(cluster.devices.size()); ++rank)
    if (cluster.devices[at(rank)].cores > 0)
      throw ConfigError(cluster.name_of(rank),
                        "has cores and is its server's machine, so the server's host cannot have "
                        "cores as well: leave one of the two out");
}

void validate_machines(const Cluster& cluster) {
  const int shared = cluster.servers_per_machine;
  if (shared == 1) return;
  if (shared < 1 || cluster.servers() % shared != 0)
    throw ConfigError(
        "servers_per_machine",
        fmt::format("found {}, expected a divisor of the {} servers", shared, cluster.servers()));
  if (cluster.has_hosts() || std::any_of(cluster.devices.begin(), cluster.devices.end(),
                                         [](const Device& device) { return device.cores == 0; }))
    throw ConfigError("servers_per_machine",
                      "is for servers whose one device has cores and is the machine itself: "
                      "leave it out");
}

void validate_storage(const Cluster& cluster) {
  const FileStorage& storage = cluster.storage;
  for (const double number :
       {storage.server_bytes_per_second, storage.shared_bytes_per_second, storage.latency_seconds})
    if (!(number >= 0) || !std::isfinite(number))
      throw ConfigError("storage", fmt::format("found {}, expected a number >= 0", number));
  if (!storage.has_rate() && storage != FileStorage{})
    throw ConfigError("storage", "needs the rate of one server (bytes_per_second)");
}

}  // namespace

std::string to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDevice:
      return "device";
    case NodeKind::kHost:
      return "host";
    case NodeKind::kNic:
      return "nic";
    case NodeKind::kNetworkSwitch:
      return "network switch";
    case NodeKind::kLocalSwitch:
      return "switch";
  }
  ORRERY_ASSERT(false);
}

double both_directions(const ClusterLink& link) {
  if (link.duplex == Duplex::kShared) return link.bytes_per_second;
  return link.both_bytes_per_second > 0 ? link.both_bytes_per_second : 2 * link.bytes_per_second;
}

bool directions_meet(const ClusterLink& link) {
  return link.duplex == Duplex::kFull && both_directions(link) < 2 * link.bytes_per_second;
}

int Cluster::servers() const {
  int last = kNoServer;
  for (const ClusterNode& node : nodes) last = std::max(last, node.server);
  return last + 1;
}

bool Cluster::has_hosts() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const ClusterNode& node) { return node.kind == NodeKind::kHost; });
}

int Cluster::cores_of(int rank) const {
  const int own = devices[at(rank)].cores;
  return own == 0 && !has_hosts() ? host.cores : own;
}

const ClusterNode& Cluster::node_of(int rank) const { return nodes[at(devices[at(rank)].node)]; }

void validate(const Cluster& cluster) {
  validate_nodes(cluster);
  validate_links(cluster);
  validate_devices(cluster);
  validate_host(cluster);
  validate_machines(cluster);
  validate_storage(cluster);
  if (const auto cut = find_unreachable(cluster)) {
    const char* hint =
        cluster.relay_through_devices ? "" : " (devices pass nothing on: relay_through_devices)";
    throw ConfigError(cluster.name_of(cut->device),
                      fmt::format("unreachable device: no route between it and {}{}",
                                  cluster.name_of(cut->other), hint));
  }
}

}  // namespace orrery
