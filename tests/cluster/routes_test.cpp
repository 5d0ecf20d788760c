// Routes against every simple path of small random clusters, and against routes by hand.
#include "core/cluster/routes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "core/base/error.hpp"

namespace orrery {
namespace {

int add(Cluster& c, const std::string& name, NodeKind kind, int server) {
  c.nodes.push_back({name, kind, server});
  const int node = static_cast<int>(c.nodes.size()) - 1;
  if (kind == NodeKind::kDevice) c.devices.push_back({node, "gpu", "gpu", 1, 1, 1});
  return node;
}

void join(Cluster& c, int a, int b, double rate, double latency = 0) {
  c.links.push_back({a, b, rate, latency, Duplex::kFull, "link"});
}

/// A random cluster: servers of 2 or 3 devices, 1 or 2 switches and a NIC each, 2 network
/// switches, links between any nodes of a server, rates of few values so that equal routes occur.
Cluster random_cluster(unsigned seed, int servers = 2) {
  std::mt19937 draw(seed);
  Cluster c{"random", "", {}, {}, {}};
  c.relay_through_devices = seed % 4 == 0;
  const auto rate = [&] { return 1e9 * static_cast<double>(1 + draw() % 3); };
  const auto latency = [&] { return 1e-4 * static_cast<double>(draw() % 3); };
  std::vector<int> network{add(c, "a", NodeKind::kNetworkSwitch, kNoServer),
                           add(c, "b", NodeKind::kNetworkSwitch, kNoServer)};
  join(c, network[0], network[1], rate(), latency());
  for (int s = 0; s < servers; ++s) {
    std::vector<int> inside;
    const std::string at = "s" + std::to_string(s) + "/";
    for (unsigned i = 0; i < 2 + draw() % 2; ++i)
      inside.push_back(add(c, at + "gpu" + std::to_string(i), NodeKind::kDevice, s));
    inside.push_back(add(c, at + "cpu", NodeKind::kHost, s));
    inside.push_back(add(c, at + "plx", NodeKind::kLocalSwitch, s));
    const int nic = add(c, at + "nic", NodeKind::kNic, s);
    inside.push_back(nic);
    for (std::size_t i = 0; i < inside.size(); ++i)
      for (std::size_t j = i + 1; j < inside.size(); ++j)
        if (draw() % 100 < 45) join(c, inside[i], inside[j], rate(), latency());
    join(c, nic, network[draw() % 2], rate(), latency());
    if (draw() % 2 == 0) join(c, nic, network[draw() % 2], rate(), latency());
  }
  return c;
}

std::int64_t cost_of(const Cluster& c, const std::vector<Hop>& hops) {
  std::int64_t cost = 0;
  for (const Hop& hop : hops)
    cost += Router::picoseconds(c.links[static_cast<std::size_t>(hop.link)]);
  return cost;
}

/// The nodes that a route visits.
std::vector<int> nodes_of(const Cluster& c, int source, const std::vector<Hop>& hops) {
  std::vector<int> nodes{source};
  for (const Hop& hop : hops) {
    const ClusterLink& link = c.links[static_cast<std::size_t>(hop.link)];
    EXPECT_EQ(hop.forward ? link.from : link.to, nodes.back());
    nodes.push_back(hop.forward ? link.to : link.from);
  }
  return nodes;
}

/// Whether a whole path keeps the rules, said another way than the router does.
bool keeps_rules(const Cluster& c, const std::vector<int>& path) {
  const auto server = [&](int node) { return c.nodes[static_cast<std::size_t>(node)].server; };
  const int first = server(path.front()), last = server(path.back());
  std::vector<int> visited;  // servers, without repeats in a row
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool inner = i > 0 && i + 1 < path.size();
    const bool device = c.nodes[static_cast<std::size_t>(path[i])].kind == NodeKind::kDevice;
    if (inner && device && !c.relay_through_devices) return false;
    if (visited.empty() || visited.back() != server(path[i])) visited.push_back(server(path[i]));
  }
  if (first == last) return visited.size() == 1;
  for (std::size_t i = 1; i + 1 < visited.size(); ++i)
    if (visited[i] != kNoServer) return false;
  return true;
}

/// Cost and links of the best simple path that keeps the rules, by trying all; no value if none.
std::optional<std::pair<std::int64_t, int>> best_by_trying_all(const Cluster& c, int source,
                                                               int target) {
  std::optional<std::pair<std::int64_t, int>> best;
  std::vector<int> path{source};
  std::function<void(std::int64_t)> extend = [&](std::int64_t cost) {
    if (path.back() == target) {
      const std::pair<std::int64_t, int> found{cost, static_cast<int>(path.size()) - 1};
      if (keeps_rules(c, path) && (!best || found < *best)) best = found;
      return;
    }
    for (const ClusterLink& link : c.links)
      for (const bool forward : {true, false}) {
        const int from = forward ? link.from : link.to, to = forward ? link.to : link.from;
        if (from != path.back() || std::find(path.begin(), path.end(), to) != path.end()) continue;
        path.push_back(to);
        extend(cost + Router::picoseconds(link));
        path.pop_back();
      }
  };
  extend(0);
  return best;
}

/// How many other devices each device has a route to.
std::vector<int> reached_by_trying_all(const Cluster& c) {
  std::vector<int> reached;
  for (const Device& a : c.devices) {
    reached.push_back(0);
    for (const Device& b : c.devices)
      if (a.node != b.node && best_by_trying_all(c, a.node, b.node)) ++reached.back();
  }
  return reached;
}

/// Holds every route of a cluster against all its paths; returns how many routes there were.
int compare_with_all_paths(const Cluster& c) {
  const Router router(c);
  int compared = 0;
  for (int a = 0; a < static_cast<int>(c.devices.size()); ++a) {
    const std::vector<Route> routes = router.from(a);
    for (int b = 0; b < static_cast<int>(c.devices.size()); ++b) {
      if (a == b) continue;
      const int source = c.devices[static_cast<std::size_t>(a)].node,
                target = c.devices[static_cast<std::size_t>(b)].node;
      const auto& hops = routes[static_cast<std::size_t>(b)].hops;
      const auto best = best_by_trying_all(c, source, target);
      EXPECT_TRUE(best.has_value());
      EXPECT_EQ(cost_of(c, hops), best->first);
      EXPECT_EQ(static_cast<int>(hops.size()), best->second);
      const auto nodes = nodes_of(c, source, hops);
      EXPECT_EQ(nodes.back(), target);
      EXPECT_TRUE(keeps_rules(c, nodes));
      ++compared;
    }
  }
  return compared;
}

TEST(Routes, AreTheBestOfAllPathsOfRandomClusters) {
  int clusters = 0, refused = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Cluster c = random_cluster(seed);

    const std::vector<int> reached = reached_by_trying_all(c);
    const int fewest = *std::min_element(reached.begin(), reached.end());
    if (const auto cut = find_unreachable(c)) {
      EXPECT_EQ(reached[static_cast<std::size_t>(cut->device)], fewest) << "seed " << seed;
      const int from = c.devices[static_cast<std::size_t>(cut->device)].node,
                to = c.devices[static_cast<std::size_t>(cut->other)].node;
      EXPECT_FALSE(best_by_trying_all(c, from, to).has_value()) << "seed " << seed;
      EXPECT_THROW(Router(c).from(cut->device), ConfigError);
      ++refused;
      continue;
    }
    EXPECT_GT(compare_with_all_paths(c), 0) << "seed " << seed;
    ++clusters;
  }

  EXPECT_GT(clusters, 20);
  EXPECT_GT(refused, 20);
}

/// The search for some targets leaves out what no route to them passes.
TEST(Routes, ToOneTargetAreThoseAmongRoutesToAll) {
  int compared = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Cluster c = random_cluster(seed, 4);
    if (find_unreachable(c)) continue;
    const Router router(c);
    for (int from = 0; from < static_cast<int>(c.devices.size()); ++from) {
      const std::vector<Route> all = router.from(from);
      for (int to = 0; to < static_cast<int>(c.devices.size()); ++to) {
        const Route alone = router.between(from, to);
        EXPECT_EQ(alone.hops, all[static_cast<std::size_t>(to)].hops) << "seed " << seed;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Routes, HaveTheRateOfTheirSlowestLinkAndTheSumOfLatencies) {
  Cluster c{"chain", "", {}, {}, {}};
  const int a = add(c, "a", NodeKind::kDevice, 0), x = add(c, "x", NodeKind::kHost, 0),
            b = add(c, "b", NodeKind::kDevice, 0);
  join(c, a, x, 8e9, 1e-6);
  join(c, b, x, 3e9, 2e-6);

  const Route route = Router(c).between(0, 1);

  EXPECT_EQ(route.hops, (std::vector<Hop>{{0, true}, {1, false}}));
  EXPECT_DOUBLE_EQ(route.bytes_per_second, 3e9);
  EXPECT_DOUBLE_EQ(route.latency_seconds, 3e-6);
}

TEST(Routes, DoNotPassAThirdDevice) {
  Cluster c{"triangle", "", {}, {}, {}};
  const int a = add(c, "a", NodeKind::kDevice, 0), b = add(c, "b", NodeKind::kDevice, 0),
            m = add(c, "m", NodeKind::kDevice, 0), host = add(c, "cpu", NodeKind::kHost, 0);
  join(c, a, m, 100e9);
  join(c, m, b, 100e9);
  for (const int gpu : {a, b, m}) join(c, gpu, host, 1e9);

  EXPECT_DOUBLE_EQ(Router(c).between(0, 1).bytes_per_second, 1e9);
  c.relay_through_devices = true;
  EXPECT_DOUBLE_EQ(Router(c).between(0, 1).bytes_per_second, 100e9);
}

TEST(Routes, StayInsideAServerHoweverFastTheNetwork) {
  Cluster c{"slow inside", "", {}, {}, {}};
  const int a = add(c, "a", NodeKind::kDevice, 0), b = add(c, "b", NodeKind::kDevice, 0),
            network = add(c, "net", NodeKind::kNetworkSwitch, kNoServer);
  join(c, a, b, 1e9);
  join(c, a, network, 100e9);
  join(c, b, network, 100e9);

  EXPECT_EQ(Router(c).between(0, 1).hops, (std::vector<Hop>{{0, true}}));
}

TEST(Routes, OfEqualLengthAreSharedOutByTarget) {
  Cluster c{"two spines", "", {}, {}, {}};
  const int left = add(c, "left", NodeKind::kNetworkSwitch, kNoServer),
            right = add(c, "right", NodeKind::kNetworkSwitch, kNoServer);
  for (int s = 0; s < 3; ++s) {
    const int gpu = add(c, "gpu" + std::to_string(s), NodeKind::kDevice, s);
    join(c, gpu, left, 1e9);
    join(c, gpu, right, 1e9);
  }

  const auto routes = Router(c).from(0);

  EXPECT_EQ(nodes_of(c, c.devices[0].node, routes[1].hops)[1], right);
  EXPECT_EQ(nodes_of(c, c.devices[0].node, routes[2].hops)[1], left);
}

TEST(Routes, AreBetweenOtherNodesThanDevicesToo) {
  // A host reaches that of the next server over the adapters, and no device passes it on.
  Cluster c{"hosts", "", {}, {}, {}};
  const int net = add(c, "net", NodeKind::kNetworkSwitch, kNoServer);
  std::vector<int> hosts;
  for (int s = 0; s < 3; ++s) {
    const std::string at = "s" + std::to_string(s) + "/";
    const int nic = add(c, at + "nic", NodeKind::kNic, s),
              gpu = add(c, at + "gpu", NodeKind::kDevice, s);
    hosts.push_back(add(c, at + "cpu", NodeKind::kHost, s));
    join(c, hosts.back(), gpu, 100e9, 1e-6);
    join(c, gpu, nic, 100e9, 1e-6);
    if (s < 2) join(c, hosts.back(), nic, 12e9, 2e-6);
    join(c, nic, net, 10e9, 5e-6);
  }

  const Route route = Router(c).between_nodes(hosts[0], {hosts[1]}).at(0);

  EXPECT_EQ(route.hops.size(), 4U);
  EXPECT_EQ(route.bytes_per_second, 10e9);
  EXPECT_DOUBLE_EQ(route.latency_seconds, 2 * (2e-6 + 5e-6));
  try {
    Router(c).between_nodes(hosts[0], {hosts[2]});
    FAIL() << "its adapter is behind a device";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()), "s2/cpu: unreachable host: no route from s0/cpu");
  }
}

TEST(Routes, OfADeviceToItselfTakeNoTime) {
  const Cluster c = [] {
    Cluster one{"one", "", {}, {}, {}};
    add(one, "a", NodeKind::kDevice, 0);
    return one;
  }();

  const PairMatrices matrices = pair_matrices(c, {0});

  EXPECT_TRUE(std::isinf(matrices.bytes_per_second[0][0]));
  EXPECT_EQ(matrices.latency_seconds[0][0], 0);
}

}  // namespace
}  // namespace orrery
