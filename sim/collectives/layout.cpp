#include "sim/collectives/layout.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

int device_of(const GroupPlaces& places, int member) { return places.device[at(member)]; }

/// Fills servers in the order of their first members.
void find_servers(Layout& layout, const GroupPlaces& places) {
  std::map<int, int> number;
  for (int i = 0; i < layout.ranks; ++i) {
    const auto [at, added] =
        number.try_emplace(places.server[orrery::at(i)], layout.server_count());
    if (added) layout.servers.emplace_back();
    layout.servers[orrery::at(at->second)].push_back(i);
    layout.server_of.push_back(at->second);
  }
  for (const auto& members : layout.servers)
    layout.equal = layout.equal && members.size() == layout.servers.front().size();
}

/// How many channels go through each direction of each link and through both, and the smallest
/// share of any.
class LinkLoad {
 public:
  explicit LinkLoad(const Cluster& cluster) : cluster_(cluster) {}
  void add(const std::vector<Hop>& hops) {
    for (const Hop& hop : hops) {
      const bool shared = link(hop).duplex == Duplex::kShared;
      ++channels_[{hop.link, shared || hop.forward}];
      if (directions_meet(link(hop))) ++in_both_[hop.link];
      nvlink_ = nvlink_ && link(hop).type.starts_with("nvlink");
    }
  }
  bool nvlink() const { return nvlink_; }
  double slowest_share() const {
    double least = kUnbounded;
    for (const auto& [at, count] : channels_)
      least = std::min(least, link(at.first).bytes_per_second / count);
    for (const auto& [at, count] : in_both_)
      least = std::min(least, both_directions(link(at)) / count);
    return least;
  }

 private:
  const ClusterLink& link(int number) const { return cluster_.links[at(number)]; }
  const ClusterLink& link(const Hop& hop) const { return link(hop.link); }
  const Cluster& cluster_;
  std::map<std::pair<int, bool>, int> channels_;
  std::map<int, int> in_both_;
  bool nvlink_ = true;
};

}  // namespace

const Ring& Layout::ring_of(int server, int channel) const {
  const auto& rings = server_rings[at(server)];
  return rings[at(channel) % rings.size()];
}

Ring rotated(const Ring& ring, int first) {
  Ring result = ring;
  std::rotate(result.begin(), std::find(result.begin(), result.end(), first), result.end());
  return result;
}

Layout LayoutFinder::find(const GroupPlaces& places) {
  Layout layout;
  layout.ranks = static_cast<int>(places.device.size());
  find_servers(layout, places);
  for (auto& members : layout.servers) {
    layout.server_rings.push_back(rings_in_server(places, members));
    members = layout.server_rings.back().front();
  }
  if (layout.server_count() == 1) {
    layout.channels = layout.server_rings.front();
    layout.heads = {std::vector<int>(layout.channels.size(), 0)};
  } else {
    join_servers(layout, places);
  }
  layout.speeds = speeds_of(layout, places);
  return layout;
}

std::vector<Ring> LayoutFinder::rings_in_server(const GroupPlaces& places,
                                                const std::vector<int>& members) {
  std::vector<int> cables;
  for (const int a : members)
    for (const int b : members)
      cables.push_back(graph_.cables(device_of(places, a), device_of(places, b)));
  const auto [at, added] = packed_.try_emplace(cables);
  if (added) at->second = pack_rings(cables);
  if (at->second.empty()) return {nearest_neighbours(places, members)};
  std::vector<Ring> rings = at->second;
  for (Ring& ring : rings)
    for (int& member : ring) member = members[orrery::at(member)];
  return rings;
}

/// From the first member always to the nearest remaining one: devices of one switch stay together.
Ring LayoutFinder::nearest_neighbours(const GroupPlaces& places,
                                      const std::vector<int>& members) const {
  std::vector<int> left(members.begin() + 1, members.end());
  Ring ring{members.front()};
  while (!left.empty()) {
    const auto ways = graph_.from(device_of(places, ring.back()));
    const auto distance = [&](int member) {
      return graph_.distance(ways, device_of(places, member));
    };
    const auto next = std::min_element(left.begin(), left.end(),
                                       [&](int a, int b) { return distance(a) < distance(b); });
    ring.push_back(*next);
    left.erase(next);
  }
  return ring;
}

/// For each adapter a member that has no nearer one.
std::vector<int> LayoutFinder::heads_in_server(const GroupPlaces& places, const Ring& ring) const {
  std::vector<int> taken, heads;
  for (const int member : ring) {
    const int device = device_of(places, member);
    for (const int exit : graph_.exits(graph_.from(device), device)) {
      if (std::find(taken.begin(), taken.end(), exit) != taken.end()) continue;
      taken.push_back(exit);
      heads.push_back(member);
      break;
    }
  }
  if (heads.empty()) heads.push_back(ring.front());
  return heads;
}

void LayoutFinder::join_servers(Layout& layout, const GroupPlaces& places) const {
  std::size_t channels = std::numeric_limits<std::size_t>::max();
  for (const auto& members : layout.servers) {
    layout.heads.push_back(heads_in_server(places, members));
    channels = std::min(channels, layout.heads.back().size());
  }
  layout.channels.resize(channels);
  for (int s = 0; s < layout.server_count(); ++s) {
    auto& heads = layout.heads[at(s)];
    heads.resize(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const Ring path = rotated(layout.ring_of(s, static_cast<int>(c)), heads[c]);
      layout.channels[c].insert(layout.channels[c].end(), path.begin(), path.end());
    }
  }
}

std::vector<Hop> LayoutFinder::hops(const GroupPlaces& places, int from, int to) const {
  const int node = cluster_.devices[at(device_of(places, to))].node;
  return graph_.hops(graph_.from(device_of(places, from)), node);
}

Speeds LayoutFinder::speeds_of(const Layout& layout, const GroupPlaces& places) const {
  LinkLoad inside(cluster_), across(cluster_), alone(cluster_);
  double latency_seconds = 0;
  std::vector<int> used;
  const auto leave = [&](int member) {
    const int device = device_of(places, member);
    const auto ways = graph_.from(device);
    const std::vector<int> exits = graph_.exits(ways, device);
    const auto fewest = std::min_element(exits.begin(), exits.end(), [&](int a, int b) {
      return std::count(used.begin(), used.end(), a) < std::count(used.begin(), used.end(), b);
    });
    if (fewest == exits.end()) return;
    used.push_back(*fewest);
    Route way = graph_.way_out(ways, *fewest);
    across.add(way.hops);
    for (Hop& hop : way.hops) hop.forward = !hop.forward;
    across.add(way.hops);  // a ring enters as it leaves
    latency_seconds = 2 * way.latency_seconds;
  };
  const auto each_hop = [](const Ring& ring, const auto& visit) {
    for (std::size_t i = 0; i < ring.size(); ++i) visit(ring[i], ring[(i + 1) % ring.size()]);
  };
  const auto in_first = [&](int member) { return layout.server_of[at(member)] == 0; };
  for (const Ring& ring : layout.channels)
    each_hop(ring, [&](int from, int to) {
      if (!in_first(from)) return;
      if (in_first(to))
        inside.add(hops(places, from, to));
      else
        leave(from);
    });
  each_hop(layout.ring_of(0, 0), [&](int from, int to) { alone.add(hops(places, from, to)); });
  const auto channels = static_cast<double>(layout.channels.size());
  return {channels * inside.slowest_share(), channels * across.slowest_share(),
          alone.slowest_share(), latency_seconds, inside.nvlink()};
}

}  // namespace orrery::sim
