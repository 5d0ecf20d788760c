// Set-up seconds: what they consist of, how they are told, and which runs have them.
#include "experiments/results/set_up.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/temporary_folder.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Output of `orrery run FILE OPTIONS`, with both streams; it must succeed.
std::string run(const std::filesystem::path& file, const std::string& options) {
  const std::string command = ORRERY_BINARY " run " + file.string() + " " + options + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0) << output;
  return output;
}

TEST(SetUp, IsTheSumOfItsParts) {
  const Json told = set_up_json({0.25, 0.5, 1.25});

  EXPECT_EQ(told["seconds"], 2.0);
  EXPECT_EQ(told["partition_seconds"], 0.25);
  EXPECT_EQ(told["structure_seconds"], 0.5);
  EXPECT_EQ(told["device_seconds"], 1.25);
}

TEST(SetUp, OfOneRunIsToldWithItsParts) {
  const std::vector<Json> one{set_up_json({0.25, 0.5, 1.25})};

  EXPECT_EQ(set_up_line(one),
            "set-up before the first epoch, which no epoch contains: 2.00 s (cutting the graph "
            "into parts 250.0 ms, subgraphs and halos 500.0 ms, onto devices 1.25 s)");
}

TEST(SetUp, OfSeveralRunsIsToldAsARange) {
  const std::vector<Json> runs{set_up_json({1, 1, 1}), set_up_json({0, 0.5, 0}),
                               set_up_json({1, 0, 0})};

  EXPECT_EQ(set_up_line(runs),
            "set-up before the first epoch, which no epoch contains: 500.0 ms to 3.00 s "
            "(\"set_up\" in result.json of each run)");
}

/// A server's subgraph is cut before the first epoch. With a graph of 30,000 vertices that takes
/// milliseconds, which must show up in the set-up and not in the epochs.
TEST(SetUp, OfPreloadingIsMeasuredInRealRunsAndLeftOutOfSimulations) {
  const TemporaryFolder folder("orrery-set-up-");
  const auto file = folder.path() / "e.json";
  std::ofstream(file) << R"({"name": "e",
    "dataset": {"generate": "communities", "vertices": 30000, "edges": 200000, "features": 8},
    "model": {"type": "gcn", "layers": 2, "hidden": 4},
    "strategy": {"type": "shared_preloading"}, "train": {"epochs": 2},
    "cluster": {"servers": 2, "ranks_per_server": 2}})";
  const auto result = [&](const char* name) {
    return Json::parse(std::ifstream(folder.path() / name / "result.json"));
  };

  const std::string said = run(file, "--out " + (folder.path() / "real").string());
  run(file, R"(--set backend=sim --set 'cluster={"file": "a6000-4x4-pcie", "servers": 2,)"
            R"( "gpus_per_server": 2}' --out )" +
                (folder.path() / "sim").string());

  const Json set_up = result("real").at("set_up");
  EXPECT_GT(set_up["partition_seconds"], 0.0);
  EXPECT_GT(set_up["structure_seconds"], 0.0);
  EXPECT_GT(set_up["device_seconds"], 0.0);
  EXPECT_LT(set_up["partition_seconds"].get<double>() + set_up["structure_seconds"].get<double>(),
            result("real")["startup"]["until_first_epoch_seconds"]);
  EXPECT_NE(said.find("set-up before the first epoch"), std::string::npos) << said;
  EXPECT_FALSE(result("sim").contains("set_up"));
}

}  // namespace
}  // namespace orrery
