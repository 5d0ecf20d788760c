#include "sim/collectives/server_graph.hpp"

#include <algorithm>
#include <limits>

#include "core/base/index.hpp"

namespace orrery::sim {

ServerGraph::ServerGraph(const Cluster& cluster)
    : cluster_(cluster),
      nodes_(static_cast<std::size_t>(cluster.servers())),
      inside_(nodes_.size()),
      out_(nodes_.size()) {
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const int server = cluster.nodes[i].server;
    place_.push_back(server == kNoServer ? 0 : nodes_[at(server)].size());
    if (server != kNoServer) nodes_[at(server)].push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    const auto server_of = [&](int node) { return cluster.nodes[at(node)].server; };
    const int a = server_of(cluster.links[i].from), b = server_of(cluster.links[i].to);
    const auto add = [&](auto& lists, int server) {
      if (server != kNoServer) lists[at(server)].push_back(static_cast<int>(i));
    };
    if (a == b) {
      add(inside_, a);
    } else {
      add(out_, a);
      add(out_, b);
    }
  }
}

int ServerGraph::cables(int device, int other) const {
  const int a = cluster_.devices[at(device)].node;
  const int b = cluster_.devices[at(other)].node;
  if (cluster_.server_of(device) != cluster_.server_of(other) || a == b) return 0;
  int count = 0;
  for (const int i : inside_[at(cluster_.server_of(device))]) {
    const ClusterLink& link = cluster_.links[at(i)];
    if ((link.from == a && link.to == b) || (link.from == b && link.to == a)) count += link.count;
  }
  return count;
}

ServerGraph::Ways ServerGraph::from(int device) const {
  const auto server = static_cast<std::size_t>(cluster_.server_of(device));
  const int source = cluster_.devices[at(device)].node;
  Ways ways{std::vector<std::int64_t>(nodes_[server].size(), kFar),
            std::vector<Hop>(nodes_[server].size())};
  ways.picoseconds[place(source)] = 0;
  // A server has few links: all are tried until none shortens a way.
  bool shorter = true;
  const auto relax = [&](int link, int tail, int head, bool forward) {
    const std::int64_t so_far = ways.picoseconds[place(tail)];
    const bool relayed = tail != source && cluster_.nodes[at(tail)].kind == NodeKind::kDevice;
    if (so_far == kFar || relayed) return;
    const std::int64_t cost = so_far + Router::picoseconds(cluster_.links[at(link)]);
    if (cost >= ways.picoseconds[place(head)]) return;
    ways.picoseconds[place(head)] = cost;
    ways.last[place(head)] = {link, forward};
    shorter = true;
  };
  while (shorter) {
    shorter = false;
    for (const int i : inside_[server]) {
      const ClusterLink& link = cluster_.links[at(i)];
      relax(i, link.from, link.to, true);
      relax(i, link.to, link.from, false);
    }
  }
  return ways;
}

std::int64_t ServerGraph::distance(const Ways& ways, int device) const {
  return ways.picoseconds[place(cluster_.devices[at(device)].node)];
}

std::vector<Hop> ServerGraph::hops(const Ways& ways, int node) const {
  std::vector<Hop> hops;
  for (int at = node; ways.picoseconds[place(at)] > 0;) {
    if (ways.picoseconds[place(at)] == kFar) return {};
    const Hop hop = ways.last[place(at)];
    hops.push_back(hop);
    const ClusterLink& link = cluster_.links[orrery::at(hop.link)];
    at = hop.forward ? link.from : link.to;
  }
  return hops;
}

std::vector<int> ServerGraph::exits(const Ways& ways, int device) const {
  const int server = cluster_.server_of(device);
  std::vector<int> nearest;
  std::int64_t least = kFar;
  for (const int i : out_[at(server)]) {
    const ClusterLink& link = cluster_.links[at(i)];
    const bool starts = cluster_.nodes[at(link.from)].server == server;
    const int exit = starts ? link.from : link.to;
    const std::int64_t cost = ways.picoseconds[place(exit)];
    if (cost == kFar || cost > least) continue;
    if (cost < least) nearest.clear();
    least = cost;
    if (std::find(nearest.begin(), nearest.end(), exit) == nearest.end()) nearest.push_back(exit);
  }
  return nearest;
}

Route ServerGraph::way_out(const Ways& ways, int exit) const {
  Route route{hops(ways, exit), std::numeric_limits<double>::infinity(), 0};
  const int server = cluster_.nodes[at(exit)].server;
  for (const int i : out_[at(server)]) {
    const ClusterLink& link = cluster_.links[at(i)];
    if (link.from != exit && link.to != exit) continue;
    route.hops.push_back({i, link.from == exit});
    break;
  }
  for (const Hop& hop : route.hops) {
    const ClusterLink& link = cluster_.links[at(hop.link)];
    route.bytes_per_second = std::min(route.bytes_per_second, link.bytes_per_second);
    route.latency_seconds += link.latency_seconds;
  }
  return route;
}

}  // namespace orrery::sim
