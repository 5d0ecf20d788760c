// Cluster files: those that ship, against what the papers and data sheets say, and how mistakes in
// one are told.
#include "experiments/config/cluster_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include "core/base/error.hpp"
#include "core/cluster/routes.hpp"
#include "experiments/config/validate_json.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFolder = ORRERY_SOURCES "/configs/clusters/";

Json file_of(const std::string& name) {
  std::ifstream in(kFolder + name + ".json");
  return parse_json({std::istreambuf_iterator<char>(in), {}}, name);
}

Cluster shipped(const std::string& name, std::optional<int> servers = {}) {
  return load_cluster(kFolder + name + ".json", servers);
}

std::string refused_cluster(const Json& file) {
  try {
    make_cluster(file);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

const ClusterLink& link_of(const Cluster& cluster, const Hop& hop) {
  return cluster.links[static_cast<std::size_t>(hop.link)];
}

struct Size {
  const char* name;
  int servers, devices;
  double memory_gb;  // of a device, roughly
};
const std::vector<Size> kSizes{{"dgx-1", 1, 8, 32},
                               {"dgx-a100", 1, 8, 80},
                               {"a6000-4x4-pcie", 4, 16, 48},
                               {"a6000-4x4-nvlink", 4, 16, 48},
                               {"rtx2080ti-2x4-1gbe", 2, 8, 11},
                               {"g4dn-metal-8", 8, 64, 16},
                               {"r5dn-24xlarge-4", 4, 4, 768},
                               {"r5-16-25gbe", 16, 16, 768},
                               {"a6000-1x2-nvlink", 1, 2, 48},
                               {"a6000-1x4-pcie", 1, 4, 48},
                               {"hgx-h200", 1, 8, 141},
                               {"fat-tree", 16, 128, 141},
                               {"xeon9242-64x2-hdr", 64, 128, 206}};

TEST(ShippedClusters, LoadWithTheirSizesAndRouteEveryPair) {
  for (const Size& size : kSizes) {
    const Cluster cluster = shipped(size.name);

    EXPECT_EQ(cluster.name, size.name);
    EXPECT_EQ(cluster.servers(), size.servers) << size.name;
    EXPECT_EQ(static_cast<int>(cluster.devices.size()), size.devices) << size.name;
    const double memory = static_cast<double>(cluster.devices[0].memory_bytes);
    EXPECT_NEAR(memory / (size.memory_gb * 1e9), 1.0, 0.08) << size.name;
    EXPECT_FALSE(find_unreachable(cluster).has_value()) << size.name;
  }
}

TEST(ShippedClusters, AreAllTested) {
  const auto names = shipped_clusters();

  for (const Size& size : kSizes)
    EXPECT_NE(std::find(names.begin(), names.end(), size.name), names.end()) << size.name;
}

TEST(ShippedClusters, HaveTheNvlinkMatrixOfADgx1) {
  // Links between GPUs as nvidia-smi topo -m prints them (NCCL issue 671): rows are GPUs.
  const std::vector<std::vector<int>> nvlinks{{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                              {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                              {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                              {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  const Cluster cluster = shipped("dgx-1");
  const Router router(cluster);

  for (std::size_t a = 0; a < 8; ++a) {
    const auto routes = router.from(static_cast<int>(a));
    for (std::size_t b = 0; b < 8; ++b) {
      if (a == b) continue;
      if (nvlinks[a][b] == 0) {
        EXPECT_LE(routes[b].bytes_per_second, 12e9) << a << " " << b;  // PCIe
        EXPECT_GT(routes[b].hops.size(), 1U);
      } else {
        ASSERT_EQ(routes[b].hops.size(), 1U) << a << " " << b;
        EXPECT_EQ(link_of(cluster, routes[b].hops[0]).count, nvlinks[a][b]);
        EXPECT_DOUBLE_EQ(routes[b].bytes_per_second, 20e9 * nvlinks[a][b]);
      }
    }
    int links = 0;
    for (const int n : nvlinks[a]) links += n;
    EXPECT_EQ(links, 6);  // of every V100
  }
}

TEST(ShippedClusters, HaveBridgesBetweenPairsOnly) {
  const Cluster cluster = shipped("a6000-4x4-nvlink");

  const PairMatrices m = pair_matrices(cluster, {0, 1, 2, 3});

  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      if (a != b) {
        EXPECT_DOUBLE_EQ(m.bytes_per_second[a][b], a / 2 == b / 2 ? 48e9 : 26.3e9);
      }
}

TEST(ShippedClusters, HaveTheSameRateBetweenAnyTwoGpusOnNvswitch) {
  const Cluster cluster = shipped("dgx-a100");

  for (const Route& route : Router(cluster).from(3))
    if (!route.hops.empty()) {
      EXPECT_DOUBLE_EQ(route.bytes_per_second, 240e9);
    }
}

TEST(ShippedClusters, AreLimitedByTheNicBetweenServers) {
  const std::vector<std::pair<const char*, double>> networks{
      {"a6000-4x4-pcie", 4e9},   {"a6000-4x4-nvlink", 4e9},    {"rtx2080ti-2x4-1gbe", 112.5e6},
      {"g4dn-metal-8", 11.25e9}, {"r5dn-24xlarge-4", 11.25e9}, {"r5-16-25gbe", 2.8125e9},
      {"fat-tree", 47e9}};
  for (const auto& [name, rate] : networks) {
    const Cluster cluster = shipped(name);
    // The first device of the last server: g4dn's GPUs of socket 1 would cross sockets too.
    const int devices = static_cast<int>(cluster.devices.size());
    const int last = devices - devices / cluster.servers();

    const Route route = Router(cluster).between(0, last);

    EXPECT_DOUBLE_EQ(route.bytes_per_second, rate) << name;
    for (const Hop& hop : route.hops) {
      const ClusterLink& link = link_of(cluster, hop);
      const bool nic = cluster.nodes[static_cast<std::size_t>(link.to)].server == kNoServer;
      EXPECT_EQ(link.bytes_per_second == rate,
                nic && link.count == 1 && link.type.find("uplink") == std::string::npos)
          << name << " " << link.type;
    }
  }
}

TEST(ShippedClusters, GrowToAnyNumberOfServers) {
  EXPECT_EQ(shipped("dgx-a100", 4).devices.size(), 32U);
  EXPECT_EQ(shipped("a6000-4x4-pcie", 1).servers(), 1);
  EXPECT_EQ(shipped("fat-tree", 32).devices.size(), 256U);
}

TEST(ShippedClusters, OfTheFatTreeHaveUplinksOfTheirPodsNics) {
  Json file = file_of("fat-tree");
  file["network"]["fat_tree"]["oversubscription"] = 2;

  const Cluster cluster = make_cluster(file);

  int uplinks = 0;
  for (const ClusterLink& link : cluster.links)
    if (link.type == "ib-ndr uplink") {
      EXPECT_DOUBLE_EQ(link.bytes_per_second, 4 * 8 * 47e9 / 2);
      ++uplinks;
    }
  EXPECT_EQ(uplinks, 4);
  const Router router(cluster);
  EXPECT_EQ(router.between(0, 8 * 3).hops.size(), 6U);  // same pod: one leaf
  EXPECT_EQ(router.between(0, 8 * 4).hops.size(), 8U);  // over the core
}

TEST(ShippedClusters, OfTheFatTreeUseTheNicsBesideTheirGpus) {
  const Cluster cluster = shipped("fat-tree");
  std::set<int> used;

  for (int gpu = 0; gpu < 8; ++gpu) {
    const Route route = Router(cluster).between(gpu, 8 + gpu);
    EXPECT_EQ(route.hops.size(), 6U);  // no host on the way
    used.insert(route.hops[1].link);
  }

  EXPECT_EQ(used.size(), 8U);  // a NIC each
}

/// Calls `visit(path, object)` for every object with a "value", and for those without a "source".
void expect_sources(const Json& value, const std::string& path) {
  if (!value.is_structured()) return;
  if (value.is_object() && value.contains("value")) {
    EXPECT_TRUE(value.contains("source") && !value["source"].get<std::string>().empty()) << path;
  }
  for (const auto& [key, member] : value.items()) expect_sources(member, path + "." + key);
}

/// Cores of a server as its papers and data sheets count them, and its main memory in GiB.
TEST(ShippedClusters, SayWhatTheirHostsHave) {
  const std::map<std::string, std::pair<int, int>> published{{"dgx-1", {2 * 20, 512}},
                                                             {"dgx-a100", {2 * 64, 2048}},
                                                             {"a6000-4x4-pcie", {16, 256}},
                                                             {"a6000-4x4-nvlink", {16, 256}},
                                                             {"a6000-1x2-nvlink", {2 * 16, 96}},
                                                             {"a6000-1x4-pcie", {2 * 32, 256}},
                                                             {"g4dn-metal-8", {96 / 2, 384}},
                                                             {"r5dn-24xlarge-4", {96 / 2, 768}},
                                                             {"r5-16-25gbe", {64 / 2, 768}},
                                                             {"rtx2080ti-2x4-1gbe", {16, 256}},
                                                             {"hgx-h200", {2 * 56, 2048}},
                                                             {"fat-tree", {2 * 56, 2048}},
                                                             {"xeon9242-64x2-hdr", {2 * 48, 384}}};
  for (const Size& size : kSizes) {
    const Cluster cluster = shipped(size.name);
    const ServerHost& host = cluster.host;

    EXPECT_EQ(host.cores, published.at(size.name).first) << size.name;
    EXPECT_EQ(host.memory_bytes >> 30, published.at(size.name).second) << size.name;
    EXPECT_EQ(cluster.cores_of(0), cluster.has_hosts() ? 0 : host.cores) << size.name;
    if (!cluster.has_hosts()) continue;
    // Per socket: four channels of DDR4-2133 to eight of DDR5-4800.
    EXPECT_GT(host.memory_bytes_per_second, 4 * 17e9) << size.name;
    EXPECT_LT(host.memory_bytes_per_second, 2 * 8 * 38.5e9) << size.name;
    EXPECT_EQ(host.pinned_bytes, host.memory_bytes / 2) << size.name;
  }
}

TEST(ClusterFile, TellsMistakesAboutHosts) {
  Json none = file_of("dgx-1"), bare = none, word = none, pinned = none;
  none["server"]["host_cores"]["value"] = 0;
  bare["server"]["host_cores"].erase("source");
  word["server"]["host_core"] = word["server"]["host_cores"];
  pinned["server"]["host_pinned_bytes"]["value"] = std::int64_t{1} << 50;

  EXPECT_EQ(refused_cluster(none).rfind("server.host_cores.value: found 0", 0), 0U)
      << refused_cluster(none);
  EXPECT_EQ(refused_cluster(bare), "server.host_cores.source: is required");
  EXPECT_NE(refused_cluster(word).find("Did you mean \"host_cores\"?"), std::string::npos);
  EXPECT_NE(refused_cluster(pinned).find("bytes that may be pinned"), std::string::npos);
}

TEST(ShippedClusters, GiveASourceForEveryNumber) {
  for (const Size& size : kSizes) expect_sources(file_of(size.name), size.name);
}

TEST(ClusterFile, WithALinkCutNamesTheDevice) {
  Json file = file_of("a6000-4x4-pcie");
  file["server"]["links"][0]["from"] = "gpu0..gpu2";

  EXPECT_EQ(refused_cluster(file).rfind(
                "s0/gpu3: unreachable device: no route between it and s0/gpu0", 0),
            0U)
      << refused_cluster(file);
}

TEST(ClusterFile, TellsUnknownKeysWithTheNearest) {
  Json file = file_of("dgx-1");
  file["link_types"]["qpi"]["latency_second"] = 1;

  EXPECT_EQ(refused_cluster(file).rfind("link_types.qpi.latency_second: unknown key. Did you mean "
                                        "\"latency_seconds\"? Known keys: ",
                                        0),
            0U)
      << refused_cluster(file);
}

TEST(ClusterFile, TellsUnknownKeysInListsWithTheNearest) {
  Json file = file_of("dgx-1");
  file["server"]["links"][2]["form"] = "gpu0";

  EXPECT_EQ(
      refused_cluster(file).rfind("server.links[2].form: unknown key. Did you mean \"from\"?", 0),
      0U)
      << refused_cluster(file);
}

TEST(ClusterFile, TellsUnknownNodesAndTypesWithTheNearest) {
  Json node = file_of("dgx-1"), type = node, device = node;
  node["server"]["links"][5]["to"] = "cpv1";
  type["server"]["links"][5]["type"] = "qpl";
  device["server"]["nodes"]["gpu0..gpu7"] = "v100";

  EXPECT_EQ(refused_cluster(node).rfind(
                "server.links[5].to: unknown node \"cpv1\". Did you mean \"cpu1\"?", 0),
            0U)
      << refused_cluster(node);
  EXPECT_EQ(refused_cluster(type).rfind(
                "server.links[5].type: unknown type of link \"qpl\". Did you mean \"qpi\"?", 0),
            0U)
      << refused_cluster(type);
  EXPECT_EQ(
      refused_cluster(device).rfind("server.nodes.gpu0..gpu7: unknown kind of node \"v100\".", 0),
      0U)
      << refused_cluster(device);
}

TEST(ClusterFile, RefusesRatesThatAreNotPositive) {
  for (const double rate : {0.0, -1.0}) {
    Json file = file_of("dgx-1");
    file["link_types"]["qpi"]["bytes_per_second"]["value"] = rate;

    EXPECT_EQ(refused_cluster(file).rfind("link_types.qpi.bytes_per_second.value: found ", 0), 0U)
        << refused_cluster(file);
  }
}

TEST(ClusterFile, RefusesEmptyTypes) {
  Json file = file_of("dgx-1");
  file["device_types"] = Json::object();

  EXPECT_EQ(refused_cluster(file),
            "device_types: found an empty object, expected at least one key");
}

TEST(ClusterFile, RefusesNumbersWithoutASource) {
  Json file = file_of("dgx-1");
  file["link_types"]["qpi"]["bytes_per_second"].erase("source");

  EXPECT_EQ(refused_cluster(file), "link_types.qpi.bytes_per_second.source: is required");
}

TEST(ClusterFile, RefusesDuplicates) {
  Json node = file_of("dgx-1"), link = node;
  node["server"]["nodes"]["gpu7"] = "v100-sxm2-32gb";
  link["server"]["links"][0]["pairs"].push_back("gpu3-gpu0");

  EXPECT_EQ(refused_cluster(node), "server.nodes.gpu7: duplicate name: gpu7");
  EXPECT_EQ(refused_cluster(link).rfind("server.links[0]: s0/gpu3 and s0/gpu0 are linked twice", 0),
            0U)
      << refused_cluster(link);
}

TEST(ClusterFile, RefusesPatternsThatDoNotFit) {
  Json uneven = file_of("dgx-1"), range = uneven, pair = uneven, half = uneven;
  uneven["server"]["links"][2]["to"] = "plx0..plx2";
  range["server"]["links"][2]["from"] = "gpu7..gpu0";
  pair["server"]["links"][0]["pairs"][1] = "gpu0";
  half["server"]["links"][5].erase("to");

  EXPECT_NE(refused_cluster(uneven).find("cannot be shared out evenly"), std::string::npos);
  EXPECT_EQ(refused_cluster(range).rfind(
                "server.links[2].from: found \"gpu7..gpu0\", expected a range", 0),
            0U);
  EXPECT_EQ(refused_cluster(pair).rfind("server.links[0].pairs[1]: found \"gpu0\"", 0), 0U);
  EXPECT_EQ(refused_cluster(half), "server.links[5].from: only goes with \"to\"");
}

TEST(ClusterFile, WiresNetworksOfSeveralSwitches) {
  Json file = file_of("a6000-4x4-pcie");
  file["network"] = {
      {"source", "a test"},
      {"switches", "edge0..edge2"},
      {"links",
       {{{"type", "ib-qdr"}, {"from", "s*/nic0"}, {"to", "edge0..edge1"}},
        {{"type", "ib-qdr"}, {"count", 2}, {"from", "edge0..edge1"}, {"to", "edge2"}}}}};

  const Cluster cluster = make_cluster(file);

  const Router router(cluster);
  EXPECT_EQ(router.between(0, 4).hops.size(), 6U);  // s0 and s1 share edge0
  EXPECT_EQ(router.between(0, 8).hops.size(), 8U);  // s2 is behind edge2 and edge1
  EXPECT_DOUBLE_EQ(link_of(cluster, router.between(0, 8).hops[3]).bytes_per_second, 8e9);
}

TEST(ClusterFile, GivesEachCableItsTotalOfBothDirections) {
  Json file = file_of("a6000-4x4-pcie"), beyond = file, tree = file_of("fat-tree");
  const auto number = [](double value) { return Json{{"value", value}, {"source", "a test"}}; };
  const auto with = [&](Json& of, const char* type, double total) {
    of["link_types"][type]["both_bytes_per_second"] = number(total);
  };
  with(file, "ib-qdr", 6e9);
  file["network"]["links"][0]["count"] = 3;
  with(beyond, "ib-qdr", 9e9);
  with(tree, "ib-ndr", 70e9);

  for (const ClusterLink& link : make_cluster(file).links)
    EXPECT_EQ(both_directions(link), link.type == "ib-qdr" ? 18e9 : 2 * link.bytes_per_second);
  for (const ClusterLink& link : make_cluster(tree).links)
    if (link.type == "ib-ndr uplink") {
      EXPECT_DOUBLE_EQ(both_directions(link) / link.bytes_per_second, 70.0 / 47);
    }
  EXPECT_NE(refused_cluster(beyond).find("expected 4000000000 to 8000000000"), std::string::npos)
      << refused_cluster(beyond);
}

TEST(ClusterFile, NeedsANetworkBetweenServers) {
  Json file = file_of("a6000-1x2-nvlink");
  file["servers"]["value"] = 2;

  EXPECT_EQ(refused_cluster(file), "network: is required with 2 servers");
}

TEST(ClusterFile, IsFoundByNameAndMissedWithTheNearest) {
  EXPECT_EQ(load_cluster("dgx-1").devices.size(), 8U);
  try {
    load_cluster("dgx-l");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean \"dgx-1\"?"), std::string::npos);
  }
}

TEST(ClusterFile, IsNamedInItsErrors) {
  Json file = file_of("dgx-1");
  file["color"] = "black";
  const std::string path = ::testing::TempDir() + "painted.json";
  std::ofstream(path) << file;

  try {
    load_cluster(path);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
}

TEST(ClusterFile, RefusesNamesThatNobodyReads) {
  Json named = file_of("dgx-1"), linked = named;
  named["server"]["nodes"][std::string(200000, 'x')] = "switch";
  linked["server"]["links"][0]["pairs"][0] = std::string(200000, 'x') + "-gpu0";

  EXPECT_NE(refused_cluster(named).find("xxx...\", expected a name of at most 256 letters"),
            std::string::npos);
  EXPECT_NE(refused_cluster(linked), "accepted");
  EXPECT_LT(refused_cluster(linked).size(), 10000U);
}

TEST(ClusterFile, ManyStarsTakeNoTime) {
  Json file = file_of("dgx-1");
  file["server"]["nodes"][std::string(100, 'a')] = "switch";
  std::string stars;
  for (int i = 0; i < 40; ++i) stars += "*a";
  Json link = {{"type", "qpi"}, {"from", stars + "b"}, {"to", "cpu0"}};
  Json unknown = file;
  unknown["server"]["links"].push_back(link);
  link["from"] = "a" + stars + "*";
  file["server"]["links"].push_back(link);

  EXPECT_NE(refused_cluster(unknown).find("unknown node"), std::string::npos);
  EXPECT_EQ(refused_cluster(file), "accepted");
}

}  // namespace
}  // namespace orrery
