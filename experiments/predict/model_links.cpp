#include "experiments/predict/model_links.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/cluster/routes.hpp"

namespace orrery {
namespace {

/// Larger groups are judged by the members of their first server only; servers are alike.
constexpr int kAskedInFull = 64;

std::vector<int> key_of(const Group& group) { return {group.first, group.size, group.stride}; }

/// Number in `nodes` of each device's node, by node.
std::map<int, int> index_of_nodes(const Cluster& cluster, const std::vector<int>& devices) {
  std::map<int, int> index;
  for (std::size_t r = 0; r < devices.size(); ++r)
    index[cluster.devices[at(devices[r])].node] = static_cast<int>(r);
  return index;
}

/// Adds links of one rate; false if a link has another one.
class Count {
 public:
  bool add(const ClusterLink& link, double& to) {
    const double rate = link.bytes_per_second / link.count;
    if (rate_ != 0 && std::abs(rate - rate_) > 1e-9 * rate_) return false;
    rate_ = rate;
    to += link.count;
    return true;
  }
  double rate() const { return rate_; }

 private:
  double rate_ = 0;
};

std::optional<cost::Links> between_pairs(const Cluster& cluster, const std::vector<int>& devices) {
  const auto index = index_of_nodes(cluster, devices);
  const std::size_t n = devices.size();
  std::vector<double> between(n * n);
  Count count;
  for (const ClusterLink& link : cluster.links) {
    const auto a = index.find(link.from), b = index.find(link.to);
    if (a == index.end() || b == index.end()) continue;
    const auto i = static_cast<std::size_t>(a->second), j = static_cast<std::size_t>(b->second);
    if (!count.add(link, between[i * n + j])) return std::nullopt;
    between[j * n + i] = between[i * n + j];
  }
  if (count.rate() == 0) return std::nullopt;
  cost::Links links{static_cast<int>(n), between, 0, count.rate()};
  std::vector<int> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<int>(i);
  if (cost::broadcast_links(links, all) <= 0) return std::nullopt;  // not all are connected
  return links;
}

std::optional<cost::Links> to_one_switch(const Cluster& cluster, const std::vector<int>& devices) {
  const auto index = index_of_nodes(cluster, devices);
  const auto is_switch = [&](int node) {
    return cluster.nodes[at(node)].kind == NodeKind::kLocalSwitch;
  };
  struct Joined {
    std::map<int, double> links;  // of each rank
    Count count;
    bool alike = true;
  };
  std::map<int, Joined> switches;
  for (const ClusterLink& link : cluster.links)
    for (const auto& [end, other] : {std::pair(link.from, link.to), std::pair(link.to, link.from)})
      if (index.contains(end) && is_switch(other)) {
        Joined& joined = switches[other];
        joined.alike = joined.count.add(link, joined.links[index.at(end)]) && joined.alike;
      }
  std::optional<cost::Links> best;
  for (const auto& [node, joined] : switches) {
    if (joined.links.size() < devices.size() || !joined.alike) continue;
    const double each = joined.links.begin()->second;
    if (!std::all_of(joined.links.begin(), joined.links.end(),
                     [&](const auto& link) { return link.second == each; }))
      continue;
    const auto links =
        cost::switched_links(static_cast<int>(devices.size()), each, joined.count.rate());
    if (!best || each * joined.count.rate() > best->to_switch * best->link_bytes_per_second)
      best = links;
  }
  return best;
}

}  // namespace

std::optional<cost::Links> direct_links(const Cluster& cluster, const std::vector<int>& devices) {
  const std::set<int> distinct(devices.begin(), devices.end());
  if (devices.size() < 2 || distinct.size() < devices.size()) return std::nullopt;
  for (const int device : devices)
    if (cluster.server_of(device) != cluster.server_of(devices.front())) return std::nullopt;
  const auto pairs = between_pairs(cluster, devices);
  return pairs ? pairs : to_one_switch(cluster, devices);
}

double external_rate_per_device(const Cluster& cluster, const std::vector<int>& devices) {
  std::vector<int> here, there;
  for (const int device : devices) {
    const int server = cluster.server_of(device);
    if (server == cluster.server_of(devices.front()))
      here.push_back(device);
    else if (there.empty() || server == cluster.server_of(there.front()))
      there.push_back(device);
  }
  if (there.empty()) return 0;
  const Router router(cluster);
  std::vector<Route> routes;
  std::map<std::pair<int, bool>, int> users;
  for (std::size_t i = 0; i < here.size(); ++i) {
    routes.push_back(router.between(here[i], there[i % there.size()]));
    for (const Hop& hop : routes.back().hops) ++users[{hop.link, hop.forward}];
  }
  double least = routes.front().bytes_per_second;
  for (const Route& route : routes)
    for (const Hop& hop : route.hops)
      least = std::min(
          least, cluster.links[at(hop.link)].bytes_per_second / users.at({hop.link, hop.forward}));
  return least;
}

CollectiveTimes::CollectiveTimes(const Cluster& cluster, const std::vector<int>& devices,
                                 sim::Library library)
    : cluster_(cluster),
      devices_(devices),
      library_(std::move(library)),
      links_(direct_links(cluster, devices)) {}

AlphaBeta CollectiveTimes::between(const Group& group) {
  const auto known = between_.find(key_of(group));
  if (known != between_.end()) return known->second;
  std::vector<int> members;
  for (int i = 0; i < group.size; ++i) members.push_back(devices_[at(group.rank_of(i))]);
  AlphaBeta worst;
  const Router router(cluster_);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (group.size > kAskedInFull &&
        cluster_.server_of(members[i]) != cluster_.server_of(members.front()))
      break;
    const auto routes = router.from(members[i]);
    for (std::size_t j = 0; j < members.size(); ++j) {
      if (i == j) continue;
      const Route& route = routes[at(members[j])];
      double rate = route.bytes_per_second;
      const bool copied = cluster_.server_of(members[i]) == cluster_.server_of(members[j]) &&
                          library_.copy_bytes_per_second.known();
      if (copied) rate = library_.copy_bytes_per_second.of_largest();
      if (members[i] == members[j] && !copied)
        throw Uncalibrated(fmt::format(
            "library {} of the device profile does not say how fast ranks of one device copy",
            library_.name));
      worst.seconds_per_message =
          std::max(worst.seconds_per_message,
                   (copied ? 0 : route.latency_seconds) + library_.message_seconds);
      worst.seconds_per_byte = std::max(worst.seconds_per_byte, 1 / rate);
      if (copied) continue;
      for (const Hop& hop : route.hops) {
        const double both = both_directions(cluster_.links[at(hop.link)]);
        worst.seconds_per_byte_of_both = std::max(worst.seconds_per_byte_of_both, 1 / both);
      }
    }
  }
  return between_.emplace(key_of(group), worst).first->second;
}

double CollectiveTimes::links_of(const Group& group) {
  const auto known = broadcast_links_.find(key_of(group));
  if (known != broadcast_links_.end()) return known->second;
  std::vector<int> members;
  for (int i = 0; i < group.size; ++i) members.push_back(group.rank_of(i));
  return broadcast_links_.emplace(key_of(group), cost::broadcast_links(*links_, members))
      .first->second;
}

double CollectiveTimes::seconds(const Op& op, const Group& group, int rank) {
  if (group.size == 1) return 0;
  const auto q = static_cast<double>(group.size);
  AlphaBeta cost;
  if (const double wide = links_ ? links_of(group) : 0; wide > 0)
    cost.seconds_per_byte = 1 / (wide * links_->link_bytes_per_second);
  else
    cost = between(group);
  const auto [alpha, beta, beta_of_both] = cost;
  const auto operand = static_cast<double>(operands_of(op).begin()->tensor.bytes());
  if (std::holds_alternative<AllReduce>(op))
    return 2 * (q - 1) * alpha + 2 * (q - 1) / q * beta * operand;
  if (const auto* all = std::get_if<AllToAllV>(&op)) {
    const auto own = static_cast<std::size_t>(group.index_of(rank));
    const auto width = static_cast<double>(all->x.cols() * bytes_of(all->x.dtype));
    const auto moved = [&](const Tensor& t, const std::vector<std::int64_t>& rows) {
      return static_cast<double>(t.bytes()) - static_cast<double>(rows[own]) * width;
    };
    const double sent = moved(all->x, *all->send_rows), received = moved(all->y, *all->recv_rows);
    return (q - 1) * alpha + std::max(beta * std::max(sent, received),  //
                                      beta_of_both * (sent + received));
  }
  const bool sparse = std::holds_alternative<BroadcastSparse>(op);
  return std::ceil(std::log2(q)) * alpha + beta * (sparse ? bytes_of(op) : operand);
}

}  // namespace orrery
