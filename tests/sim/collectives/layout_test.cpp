// Rings over servers, checked by the routes that their messages take.
#include "sim/collectives/layout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/cluster/routes.hpp"
#include "tests/sim/clusters.hpp"

namespace orrery::sim {
namespace {

using test::all_of;
using test::places_of;

/// How many hops of all channels go through each direction of the links of a type.
std::map<std::pair<int, bool>, int> hops_over(const Cluster& c, const GroupPlaces& places,
                                              const Layout& layout, const std::string& type) {
  const Router router(c);
  std::map<std::pair<int, bool>, int> count;
  for (const Ring& ring : layout.channels)
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const auto device = [&](std::size_t at) {
        return places.device[static_cast<std::size_t>(ring[at % ring.size()])];
      };
      for (const Hop& hop : router.between(device(i), device(i + 1)).hops)
        if (c.links[static_cast<std::size_t>(hop.link)].type == type)
          ++count[{hop.link, hop.forward}];
    }
  return count;
}

void expect_each_adapter_once_each_way(const Cluster& c, std::size_t adapters) {
  const Layout layout = LayoutFinder(c).find(all_of(c));

  const auto count = hops_over(c, all_of(c), layout, "ib");

  EXPECT_EQ(count.size(), 2 * adapters);
  for (const auto& [link, hops] : count) EXPECT_EQ(hops, 1) << link.first;
}

TEST(Layout, UsesEveryAdapterOnceEachWay) {
  expect_each_adapter_once_each_way(test::switched(3, 8, 8), 24);
  expect_each_adapter_once_each_way(test::switched(3, 8, 4), 12);
  expect_each_adapter_once_each_way(test::switched(2, 4, 1), 2);
}

TEST(Layout, UsesEveryAdapterWhereTwoAreEquallyNear) {
  Cluster c = test::switched(2, 8, 4);
  const auto nodes = c.nodes;  // a second adapter on each PCIe switch
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name.find("plx") == std::string::npos) continue;
    const int nic = test::add_node(c, nodes[i].name + "nic", NodeKind::kNic, nodes[i].server);
    test::join(c, static_cast<int>(i), nic, 20e9, "pcie");
    test::join(c, nic, 0, 10e9, "ib");
  }
  expect_each_adapter_once_each_way(c, 16);
}

TEST(Layout, GoesFromServerToServerOnce) {
  const Cluster c = test::switched(4, 4, 2);
  GroupPlaces places = places_of(c, {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14});

  const Layout layout = LayoutFinder(c).find(places);

  EXPECT_EQ(layout.server_count(), 4);
  EXPECT_EQ(layout.channel_count(), 2);
  for (const Ring& ring : layout.channels) {
    int crossings = 0;
    for (std::size_t i = 0; i < ring.size(); ++i)
      crossings += places.server[static_cast<std::size_t>(ring[i])] !=
                   places.server[static_cast<std::size_t>(ring[(i + 1) % ring.size()])];
    EXPECT_EQ(crossings, 4);
  }
}

TEST(Layout, StaysOnNvlinkInsideServers) {
  const Cluster c = test::dgx1(2);

  const Layout layout = LayoutFinder(c).find(all_of(c));

  EXPECT_EQ(layout.channel_count(), 4);  // one for each adapter
  // 2 servers, 4 channels, 7 hops inside: none of the 56 over PCIe, so PCIe has the way out and in.
  int nvlink = 0;
  for (const auto& [link, hops] : hops_over(c, all_of(c), layout, "nvlink2")) nvlink += hops;
  EXPECT_EQ(nvlink, 56);
}

TEST(Layout, KeepsNeighboursOnASwitchTogether) {
  Cluster c{"pcie", "", {}, {}, {}};
  const int host = test::add_node(c, "cpu", NodeKind::kHost, 0);
  std::vector<int> plx;
  for (int k = 0; k < 2; ++k) {
    plx.push_back(test::add_node(c, "plx" + std::to_string(k), NodeKind::kLocalSwitch, 0));
    test::join(c, plx.back(), host, 12e9);
  }
  for (int g = 0; g < 4; ++g)
    test::join(c, test::add_node(c, "gpu" + std::to_string(g), NodeKind::kDevice, 0),
               plx[static_cast<std::size_t>(g % 2)], 12e9);

  const Layout layout = LayoutFinder(c).find(all_of(c));

  EXPECT_EQ(layout.channels, (std::vector<Ring>{{0, 2, 1, 3}}));
}

TEST(Layout, HasTheRatesOfItsChannels) {
  const Layout mesh = LayoutFinder(test::dgx1()).find(all_of(test::dgx1()));
  const Cluster c = test::switched(2, 8, 8);
  const Layout switched = LayoutFinder(c).find(all_of(c));

  EXPECT_DOUBLE_EQ(mesh.speeds.inside, 6 * 25e9);
  EXPECT_DOUBLE_EQ(mesh.speeds.first_ring, 2 * 25e9);  // over the double links
  EXPECT_TRUE(mesh.speeds.nvlink);
  EXPECT_DOUBLE_EQ(switched.speeds.across, 8 * 10e9);
  // 8 channels over 100 GB/s: each member sends 7 of them on inside and one to the network.
  EXPECT_DOUBLE_EQ(switched.speeds.inside, 8 * 100e9 / 7);
  EXPECT_DOUBLE_EQ(switched.speeds.first_ring, 100e9);
  EXPECT_DOUBLE_EQ(switched.speeds.across_latency_seconds, 2 * 3e-6);  // three links to the network
}

TEST(Layout, RingsPassAnAdapterInBothDirections) {
  Cluster c = test::switched(2, 4, 1);
  for (ClusterLink& link : c.links)
    if (link.type == "ib") link.both_bytes_per_second = 1.5 * link.bytes_per_second;

  EXPECT_DOUBLE_EQ(LayoutFinder(c).find(all_of(c)).speeds.across, 10e9 * 1.5 / 2);
}

TEST(ServerGraph, HasTheDistancesOfTheRouter) {
  const Cluster c = test::dgx1(2);
  const ServerGraph graph(c);
  const Router router(c);
  for (int a = 8; a < 16; ++a) {
    const auto ways = graph.from(a);
    const auto routes = router.from(a);
    for (int b = 8; b < 16; ++b) {
      std::int64_t picoseconds = 0;
      for (const Hop& hop : routes[static_cast<std::size_t>(b)].hops)
        picoseconds += Router::picoseconds(c.links[static_cast<std::size_t>(hop.link)]);

      EXPECT_EQ(graph.distance(ways, b), picoseconds) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace orrery::sim
