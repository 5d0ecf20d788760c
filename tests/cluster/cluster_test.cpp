// Clusters as plain data: what is refused, and how it is told.
#include "core/cluster/cluster.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace orrery {
namespace {

/// Two servers of two devices on a host, a NIC each, one switch.
Cluster two_servers() {
  Cluster c{"two", "a test", {}, {}, {}};
  const auto node = [&](const std::string& name, NodeKind kind, int server) {
    c.nodes.push_back({name, kind, server});
    return static_cast<int>(c.nodes.size()) - 1;
  };
  const int network = node("eth", NodeKind::kNetworkSwitch, kNoServer);
  for (int s = 0; s < 2; ++s) {
    const std::string at = "s" + std::to_string(s) + "/";
    const int host = node(at + "cpu0", NodeKind::kHost, s),
              nic = node(at + "nic0", NodeKind::kNic, s);
    c.links.push_back({nic, host, 12e9, 1e-6, Duplex::kFull, "pcie"});
    c.links.push_back({nic, network, 1e9, 2e-6, Duplex::kFull, "eth"});
    for (int d = 0; d < 2; ++d) {
      const int gpu = node(at + "gpu" + std::to_string(d), NodeKind::kDevice, s);
      c.devices.push_back({gpu, "gpu", "gpu", 1 << 30, 1e11, 1e12});
      c.links.push_back({gpu, host, 10e9, 1e-6, Duplex::kFull, "pcie"});
    }
  }
  return c;
}

std::string refusal(const Cluster& cluster) {
  try {
    validate(cluster);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

void cut(Cluster& cluster, const std::string& node) {
  std::erase_if(cluster.links, [&](const ClusterLink& link) {
    return cluster.nodes[static_cast<std::size_t>(link.from)].name == node;
  });
}

TEST(Cluster, IsAcceptedWhereEveryPairHasARoute) {
  const Cluster cluster = two_servers();

  EXPECT_EQ(refusal(cluster), "accepted");
  EXPECT_EQ(cluster.servers(), 2);
  EXPECT_EQ(cluster.name_of(3), "s1/gpu1");
  EXPECT_EQ(cluster.server_of(3), 1);
}

TEST(Cluster, HasItsCoresBesideItsDevicesOrInThem) {
  Cluster beside = two_servers(), machines = two_servers();
  for (Cluster* c : {&beside, &machines}) c->host.cores = 16;
  for (ClusterNode& node : machines.nodes)
    if (node.kind == NodeKind::kHost) node.kind = NodeKind::kLocalSwitch;

  EXPECT_EQ(beside.cores_of(0), 0);
  EXPECT_EQ(machines.cores_of(0), 16);
  EXPECT_TRUE(beside.has_hosts());
  EXPECT_FALSE(machines.has_hosts());
  EXPECT_EQ(refusal(machines), "accepted");
}

TEST(Cluster, RefusesHostsThatCannotBe) {
  Cluster twice = two_servers(), pinned = two_servers(), rate = two_servers();
  for (ClusterNode& node : twice.nodes)
    if (node.kind == NodeKind::kHost) node.kind = NodeKind::kLocalSwitch;
  twice.host.cores = 16;
  twice.devices[2].cores = 8;
  pinned.host.memory_bytes = 100;
  pinned.host.pinned_bytes = 101;
  rate.host.memory_bytes_per_second = -1;

  EXPECT_EQ(refusal(twice).rfind("s1/gpu0: has cores and is its server's machine", 0), 0U)
      << refusal(twice);
  EXPECT_EQ(refusal(pinned).rfind("two: found 101 bytes that may be pinned", 0), 0U);
  EXPECT_EQ(refusal(rate).rfind("two: cores, memory and rates of a host", 0), 0U);
}

TEST(Cluster, NamesTheDeviceThatALinkCutOff) {
  Cluster cluster = two_servers();
  cut(cluster, "s1/gpu0");

  EXPECT_EQ(refusal(cluster).rfind("s1/gpu0: unreachable device", 0), 0U) << refusal(cluster);
}

TEST(Cluster, NamesTheFirstDeviceWhereItIsTheOneCutOff) {
  Cluster cluster = two_servers();
  cut(cluster, "s0/gpu0");

  EXPECT_EQ(refusal(cluster).rfind("s0/gpu0: unreachable device", 0), 0U) << refusal(cluster);
}

TEST(Cluster, RefusesADeviceBehindAnotherUnlessItMayRelay) {
  Cluster cluster = two_servers();
  cut(cluster, "s1/gpu0");
  cluster.links.push_back(
      {cluster.devices[2].node, cluster.devices[3].node, 1e9, 0, Duplex::kFull, "nvlink"});

  EXPECT_EQ(refusal(cluster).rfind("s1/gpu0: unreachable device", 0), 0U) << refusal(cluster);
  cluster.relay_through_devices = true;
  EXPECT_EQ(refusal(cluster), "accepted");
}

TEST(Cluster, RefusesRatesThatAreNotPositive) {
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    Cluster cluster = two_servers();
    cluster.links[1].bytes_per_second = rate;

    EXPECT_EQ(refusal(cluster).rfind("eth s0/nic0 - eth: found ", 0), 0U) << refusal(cluster);
  }
}

TEST(Cluster, RefusesATotalOfBothDirectionsThatALinkCannotHave) {
  for (const double times : {0.9, 2.1, -1.0}) {
    Cluster cluster = two_servers();
    cluster.links[1].both_bytes_per_second = times * cluster.links[1].bytes_per_second;

    EXPECT_NE(refusal(cluster).find("in both directions together"), std::string::npos) << times;
  }
  Cluster shared = two_servers();
  shared.links[1].duplex = Duplex::kShared;
  shared.links[1].both_bytes_per_second = shared.links[1].bytes_per_second;

  EXPECT_NE(refusal(shared).find("a shared rate covers both"), std::string::npos);
}

TEST(Cluster, KnowsWhatALinkPassesInBothDirections) {
  ClusterLink link{0, 1, 1e9, 0, Duplex::kFull, "eth"};
  EXPECT_EQ(both_directions(link), 2e9);
  EXPECT_FALSE(directions_meet(link));

  link.both_bytes_per_second = 1.2e9;
  EXPECT_EQ(both_directions(link), 1.2e9);
  EXPECT_TRUE(directions_meet(link));

  link.both_bytes_per_second = 0;
  link.duplex = Duplex::kShared;
  EXPECT_EQ(both_directions(link), 1e9);
  EXPECT_FALSE(directions_meet(link));
}

TEST(Cluster, RefusesNegativeLatencies) {
  Cluster cluster = two_servers();
  cluster.links[1].latency_seconds = -1e-6;

  EXPECT_NE(refusal(cluster).find("expected a value >= 0"), std::string::npos);
}

TEST(Cluster, RefusesTwoNodesOfOneName) {
  Cluster cluster = two_servers();
  cluster.nodes[3].name = "s0/nic0";

  EXPECT_EQ(refusal(cluster), "s0/nic0: duplicate name: two nodes have it");
}

TEST(Cluster, RefusesLinksWithUnknownEnds) {
  Cluster cluster = two_servers();
  cluster.links[0].to = 99;

  EXPECT_EQ(refusal(cluster), "link 0 (pcie): unknown end: node 99 of 9");
}

TEST(Cluster, RefusesDevicesWithoutMemoryOrRank) {
  Cluster no_memory = two_servers(), no_rank = two_servers();
  no_memory.devices[1].memory_bytes = 0;
  no_rank.devices.pop_back();

  EXPECT_EQ(refusal(no_memory).rfind("s0/gpu1: ", 0), 0U);
  EXPECT_EQ(refusal(no_rank), "s1/gpu1: is a device without a rank");
}

}  // namespace
}  // namespace orrery
