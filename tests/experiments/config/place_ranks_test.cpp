// Ranks on the devices of cluster files: which, on how many servers, with how much memory.
#include "experiments/config/place_ranks.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/run/job_script.hpp"
#include "tests/experiments/config/minimal.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Experiment experiment(const std::string& cluster, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{"cluster=" + cluster};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return parse_experiments(kMinimal, "test.json", overrides).front();
}

std::string refusal(const std::string& cluster, const std::vector<std::string>& more = {}) {
  try {
    experiment(cluster, more);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// Servers of two CPUs with 100 bytes each.
Cluster cpus(int servers) {
  Cluster cluster;
  cluster.name = "cpus";
  for (int s = 0; s < servers; ++s)
    for (int d = 0; d < 2; ++d) {
      const int node = static_cast<int>(cluster.nodes.size());
      cluster.nodes.push_back({"cpu" + std::to_string(node), NodeKind::kDevice, s});
      cluster.devices.push_back({node, "cpu", "cpu", 100, 1e9, 1e9, 4});
    }
  return cluster;
}

std::vector<int> dealt(int servers, Json keys) { return deal_ranks(cpus(servers), keys); }

TEST(Gpus, FillOneServerAfterTheOther) {
  const Experiment e = experiment(R"({"file": "a6000-4x4-pcie", "gpus": 6})");

  EXPECT_EQ(e.devices, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(e.ranks(), 6);
  EXPECT_EQ(e.placement(), Placement({0, 0, 0, 0, 1, 1}));
}

TEST(Gpus, PerServerLeaveTheOthersOfAServerIdle) {
  const Experiment e =
      experiment(R"({"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 3})");

  EXPECT_EQ(e.devices, (std::vector<int>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(e.cluster->servers(), 2);
  EXPECT_EQ(e.placement(), Placement::uniform(2, 3));
}

TEST(Gpus, AreAllOfTheFileWhereNothingIsSaid) {
  const Experiment all = experiment(R"({"file": "dgx-a100"})");
  const Experiment more = experiment(R"({"file": "dgx-a100", "servers": 3})");

  EXPECT_EQ(all.ranks(), 8);
  EXPECT_EQ(all.resolved["cluster"]["gpus"], 8);
  EXPECT_EQ(more.ranks(), 24);
  EXPECT_EQ(more.resolved["cluster"]["gpus_per_server"], 8);
  EXPECT_EQ(parse_experiments(more.resolved.dump(), "again", {}).front().resolved, more.resolved);
}

TEST(Gpus, MoreThanThereAreIsAnErrorThatNamesBothNumbers) {
  EXPECT_EQ(refusal(R"({"file": "dgx-a100", "gpus": 9})"),
            "cluster.gpus: found 9, but dgx-a100 has 8 devices (1 server of 8); cluster.servers "
            "gives it more servers");
  EXPECT_EQ(refusal(R"({"file": "dgx-a100", "servers": 2, "gpus": 16})"), "accepted");
  EXPECT_EQ(refusal(R"({"file": "a6000-4x4-pcie", "gpus_per_server": 5})"),
            "cluster.gpus_per_server: found 5, but a server of a6000-4x4-pcie has 4 devices");
  EXPECT_EQ(
      refusal(R"({"file": "fat-tree", "servers": 256})"),
      "cluster: 2048 ranks are more than the 1024 that a run may have; up to 4096 are simulated, "
      "with backend \"sim\"");
  EXPECT_EQ(refusal(R"({"file": "fat-tree", "servers": 1024})"),
            "cluster: 8192 ranks are more than 4096");
  EXPECT_EQ(parse_experiments(R"({"name": "n", "dataset": {"path": "d"}, "model": {"type": "gcn"},
                "strategy": {"type": "full_graph"}, "train": {"epochs": 1}, "backend": "sim",
                "cluster": {"file": "fat-tree", "servers": 512, "gpus_per_server": 8}})",
                              "test", {})
                .front()
                .ranks(),
            4096);
}

TEST(Gpus, OneRankEach) {
  EXPECT_EQ(refusal(R"({"file": "dgx-a100", "ranks": 4})"),
            "cluster.ranks: the devices of dgx-a100 have one rank each; write \"gpus\": 4 instead");
  EXPECT_EQ(refusal(R"({"file": "dgx-a100", "ranks": 4, "gpus": 4})"),
            "cluster: \"gpus\" and \"ranks\" exclude each other");
  EXPECT_EQ(refusal(R"({"gpus": 4})"), "cluster.gpus: only goes with \"file\"");
}

TEST(Cpus, TakeSeveralRanksInEvenBlocks) {
  EXPECT_EQ(dealt(1, {{"ranks", 5}}), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(dealt(2, {{"ranks", 8}}), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(dealt(2, {{"ranks", 3}}), (std::vector<int>{0, 1, 2})) << "fewer ranks than devices";
  EXPECT_EQ(dealt(2, {{"ranks_per_server", 3}}), (std::vector<int>{0, 0, 1, 2, 2, 3}));
  EXPECT_EQ(dealt(2, {{"ranks_per_server", 1}}), (std::vector<int>{0, 2}));
  EXPECT_EQ(dealt(2, {{"gpus", 3}}), (std::vector<int>{0, 1, 2}));
}

TEST(Cpus, ShareTheirMemoryAmongTheirRanks) {
  EXPECT_EQ(memory_of_a_rank(cpus(1), {0, 1}), 100);
  EXPECT_EQ(memory_of_a_rank(cpus(1), {0, 0, 0, 1}), 33);
}

TEST(Memory, IsThatOfTheDevicesUnlessTheFileSaysAnother) {
  EXPECT_EQ(experiment(R"({"file": "dgx-a100"})").device_bytes, std::int64_t{81920} << 20);
  EXPECT_EQ(experiment(R"({"file": "dgx-a100", "device_bytes": "1 GiB"})").device_bytes,
            std::int64_t{1} << 30);
  EXPECT_EQ(experiment(R"({"ranks": 2})").device_bytes, std::nullopt);
}

TEST(ClusterFile, IsFoundByNameByShippedPathAndBesideTheExperiment) {
  std::string name = (std::filesystem::path(::testing::TempDir()) / "orrery_XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const std::filesystem::path folder = name;
  std::filesystem::copy_file(ORRERY_SOURCES "/configs/clusters/dgx-1.json", folder / "mine.json");
  std::ofstream(folder / "e.json") << kMinimal;

  const auto beside =
      load_experiments((folder / "e.json").string(), {R"(cluster={"file": "mine.json"})"});

  EXPECT_EQ(beside.front().cluster->name, "dgx-1");
  EXPECT_EQ(beside.front().resolved["cluster"]["file"], (folder / "mine.json").string());
  EXPECT_EQ(experiment(R"({"file": "configs/clusters/dgx-1.json"})").cluster->name, "dgx-1");
  EXPECT_EQ(refusal(R"({"file": "dgx-a10"})").substr(0, 69),
            "cluster.file: dgx-a10: no such cluster file. Did you mean \"dgx-a100\"?");
  std::filesystem::remove_all(folder);
}

TEST(ClusterFile, IsNeededByASimulation) {
  for (const char* backend : {"sim", "model"}) {
    const std::string told = refusal(R"({"ranks": 2})", {std::string("backend=") + backend});
    EXPECT_EQ(told.rfind(std::string("cluster.file: backend ") + backend + " needs hardware", 0),
              0U)
        << told;
    EXPECT_NE(told.find("dgx-a100"), std::string::npos);
  }
}

TEST(Hosts, PerServerAreOnlySimulated) {
  const std::string cluster = R"({"file": "dgx-a100", "hosts": "per_server"})";

  EXPECT_TRUE(experiment(cluster, {"backend=sim"}).host_per_server);
  EXPECT_FALSE(experiment(R"({"file": "dgx-a100"})", {"backend=sim"}).host_per_server);
  EXPECT_EQ(refusal(cluster),
            "cluster.hosts: \"per_server\" is for simulations; with backend threads each rank has "
            "its own host");
}

TEST(Simulation, DefaultsFollowTheFile) {
  const Experiment e = experiment(R"({"file": "dgx-a100"})", {"backend=sim"});
  const Experiment brief = experiment(R"({"file": "dgx-a100"})", {"backend=sim", "train.epochs=2"});

  EXPECT_EQ(e.simulation.epochs, 3);
  EXPECT_EQ(e.simulation.library, "nccl");
  EXPECT_EQ(e.resolved["simulation"]["library"], "auto");
  EXPECT_EQ(brief.simulation.epochs, 2);
  EXPECT_EQ(parse_experiments(e.resolved.dump(), "again", {}).front().resolved, e.resolved);
}

TEST(Simulation, SettingsAreReadAndRefused) {
  const std::string cluster = R"({"file": "dgx-a100"})";
  const Experiment e =
      experiment(cluster, {"simulation.library=mpi", "simulation.algorithm=ring",
                           "simulation.window=4", "simulation.chunk_bytes=\"64 KiB\"",
                           "simulation.scale={\"spmm\": 1.5}", "simulation.profile=p"});

  EXPECT_EQ(e.simulation.library, "mpi");
  EXPECT_EQ(e.simulation.algorithm, "ring");
  EXPECT_EQ(e.simulation.window, 4);
  EXPECT_EQ(e.simulation.chunk_bytes, 65536);
  EXPECT_EQ(e.simulation.scale.at("spmm"), 1.5);
  EXPECT_EQ(e.simulation.profile, "p");
  EXPECT_EQ(refusal(cluster, {"simulation.scale={\"spm\": 1.5}"}).substr(0, 74),
            "simulation.scale.spm: unknown kind of operation. Did you mean \"spmm\"? Know");
  // No profile prices a collective, so that a factor of it would change nothing.
  EXPECT_EQ(refusal(cluster, {"simulation.scale={\"all_reduce\": 2}"}).substr(0, 57),
            "simulation.scale.all_reduce: unknown kind of operation. K");
  EXPECT_EQ(refusal(cluster, {"simulation.epochs=9", "train.epochs=8"}),
            "simulation.epochs: found 9, expected at most train.epochs, which is 8");
}

TEST(JobScript, AsksForTheServersOfTheClusterFile) {
  const JobRequest request{"f.json", {}, "", false};
  const auto script = [&](const std::string& cluster) {
    return slurm_script(experiment(cluster, {"backend=mpi"}), request);
  };

  EXPECT_NE(script(R"({"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 3})")
                .find("--nodes=2\n#SBATCH --ntasks-per-node=3\n"),
            std::string::npos);
  EXPECT_NE(script(R"({"file": "a6000-4x4-pcie", "gpus": 8})").find("--nodes=2"),
            std::string::npos);
  EXPECT_NE(script(R"({"file": "a6000-4x4-pcie", "gpus": 5})").find("--ntasks=5\n"),
            std::string::npos)
      << "4 and 1 ranks are no equal number per server";
}

TEST(LinkFactors, MultiplyTheRatesOfLinksOfTheirType) {
  const std::string file = R"("file": "a6000-4x4-pcie", "gpus": 2)";
  const Cluster as_shipped = *experiment("{" + file + "}", {"backend=sim"}).cluster;
  const Cluster scaled =
      *experiment("{" + file + R"(, "link_factors": {"ib-qdr": 0.25}})", {"backend=sim"}).cluster;

  int changed = 0;
  for (std::size_t i = 0; i < scaled.links.size(); ++i) {
    const bool network = scaled.links[i].type == "ib-qdr";
    changed += network ? 1 : 0;
    EXPECT_EQ(scaled.links[i].bytes_per_second,
              (network ? 0.25 : 1) * as_shipped.links[i].bytes_per_second);
  }
  EXPECT_EQ(changed, 4) << "one a server";
}

TEST(LinkFactors, AreRefusedForOtherTypesAndRealRuns) {
  EXPECT_EQ(
      refusal(R"({"file": "a6000-4x4-pcie", "link_factors": {"nvlink": 2}})", {"backend=sim"}),
      "cluster.link_factors: found nvlink, but a6000-4x4-pcie has links of ib-qdr, "
      "pcie3-x8, pcie4-x16");
  EXPECT_EQ(refusal(R"({"file": "a6000-4x4-pcie", "link_factors": {"ib-qdr": 2}})"),
            "cluster.link_factors: is for simulations; with backend threads links are as they "
            "are: leave it out");
}

}  // namespace
}  // namespace orrery
