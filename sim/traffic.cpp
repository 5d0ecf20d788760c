#include "sim/traffic.hpp"

#include <fmt/core.h>

#include <map>

namespace orrery {

Traffic::Traffic(const Cluster& cluster, const std::vector<Pair>& pairs) {
  std::map<int, std::vector<int>> targets;
  for (const auto& [from, to] : pairs) targets[from].push_back(to);
  const Router router(cluster);
  for (const auto& [from, list] : targets) {
    const std::vector<Route> routes = router.from(from, list);
    for (std::size_t i = 0; i < list.size(); ++i) {
      Path path{{}, routes[i].latency_seconds, routes[i].bytes_per_second};
      for (const Hop& hop : routes[i].hops) path.capacities.push_back(capacity(cluster, hop));
      plan_.connections.push_back({from, list[i], path.capacities});
      paths_.emplace(key({from, list[i]}), std::move(path));
    }
  }
  plan_.ends = static_cast<int>(cluster.devices.size());
}

int Traffic::capacity(const Cluster& cluster, const Hop& hop) {
  const ClusterLink& link = cluster.links[static_cast<std::size_t>(hop.link)];
  const bool backward = link.duplex == Duplex::kFull && !hop.forward;
  const auto [at, added] =
      numbers_.try_emplace(2 * hop.link + (backward ? 1 : 0), static_cast<int>(capacities_.size()));
  if (added) {
    const auto name = [&](int node) { return cluster.nodes[static_cast<std::size_t>(node)].name; };
    const char* arrow = link.duplex == Duplex::kShared ? "-" : ">";
    LinkUse use{fmt::format("{} {} {}", name(backward ? link.to : link.from), arrow,
                            name(backward ? link.from : link.to)),
                link.type, link.bytes_per_second, 0, 0};
    capacities_.push_back({std::move(use), 0, 0});
    plan_.bytes_per_second.push_back(link.bytes_per_second);
  }
  return at->second;
}

void Traffic::begin(Pair pair, double bytes, double now) {
  for (const int c : route(pair).capacities) {
    Capacity& capacity = capacities_[static_cast<std::size_t>(c)];
    capacity.use.bytes += bytes;
    if (capacity.under_way++ == 0) capacity.busy_since = now;
  }
}

void Traffic::end(Pair pair, double now) {
  for (const int c : route(pair).capacities) {
    Capacity& capacity = capacities_[static_cast<std::size_t>(c)];
    if (--capacity.under_way == 0) capacity.use.busy_seconds += now - capacity.busy_since;
  }
}

std::vector<LinkUse> Traffic::use() const {
  std::vector<LinkUse> list;
  for (const Capacity& c : capacities_)
    if (c.use.bytes > 0) list.push_back(c.use);
  return list;
}

}  // namespace orrery
