// `orrery breakdown`: what it says of the stages, and when a partitioner pays.
#include <gmock/gmock.h>

#include "experiments/config/validate_json.hpp"
#include "experiments/run/experiment_stages.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

/// Finds it by trying one run after the other.
std::optional<double> tried(double once, double each, double other_once, double other_each) {
  if (once <= other_once && each <= other_each) return 0;
  for (int runs = 1; runs < 1000; ++runs)
    if (once + runs * each < other_once + runs * other_each) return runs;
  return std::nullopt;
}

TEST(PaysAfter, IsTheFirstRunThatTakesLessInAll) {
  for (const double once : {0.0, 1.0, 5.0, 7.5})
    for (const double each : {1.0, 1.25, 2.0, 3.0})
      for (const double other_once : {0.0, 1.0, 5.0})
        for (const double other_each : {1.0, 1.5, 3.0}) {
          const auto want = once <= other_once && each > other_each
                                ? std::nullopt  // it is slower in the end
                                : tried(once, each, other_once, other_each);
          EXPECT_EQ(pays_after(once, each, other_once, other_each), want)
              << once << " + " << each << " n against " << other_once << " + " << other_each
              << " n";
        }
}

class BreakdownCommand : public testing::StartedProgram {
 protected:
  std::string trained() const {
    return experiment(R"(, "cluster": {"ranks": 2}, "train": {"epochs": 3},
        "strategy": {"type": "full_graph"})");
  }
};

TEST_F(BreakdownCommand, TellsStagesThatItsRunsHave) {
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/breakdown.json").rdbuf();
  ASSERT_EQ(orrery(fmt::format("breakdown {} --methods metis,hash --json --out {}", trained(),
                               in("made").string())),
            0)
      << read("err");
  const Json told = Json::parse(read("out"));
  EXPECT_NO_THROW(validate_against(schema.str(), told));
  ASSERT_EQ(told["methods"].size(), 2U);
  for (const Json& method : told["methods"]) {
    const Json run = json("made/" + method["method"].get<std::string>() + "/result.json");
    EXPECT_EQ(method["epoch_seconds"], run["epoch_seconds"]);
    EXPECT_EQ(method["train_seconds"], 3 * run["epoch_seconds"].get<double>());
    for (const char* stage : {"partition_seconds", "save_seconds", "load_parts_seconds"})
      EXPECT_GT(method[stage], 0) << stage;
    EXPECT_GE(method["load_all_parts_seconds"], method["load_parts_seconds"]);
    // Features of every vertex are in one part at least.
    EXPECT_GT(method["parts_bytes"], 500 * 4);
  }
  EXPECT_LT(told["methods"][0]["received_bytes_per_epoch"],
            told["methods"][1]["received_bytes_per_epoch"])
      << "metis cuts fewer edges than hash";
  EXPECT_EQ(told["pays"].size(), 2U);
  EXPECT_FALSE(std::filesystem::exists(in("made/metis-parts"))) << "parts are removed";
}

TEST_F(BreakdownCommand, SimulatesTheTrainingOfAnotherCluster) {
  ASSERT_EQ(
      orrery(fmt::format("breakdown {} --set backend=sim --set 'cluster={{\"file\": \"dgx-1\", "
                         "\"gpus\": 2}}' --out {}",
                         trained(), in("made").string())),
      0)
      << read("err");
  EXPECT_THAT(read("out"), HasSubstr("simulated on dgx-1"));
  EXPECT_THAT(read("out"), HasSubstr("not priced")) << "nobody says how fast its files are";
}

/// Four servers, each of which reads 1 MB/s, all together 2 MB/s.
TEST_F(BreakdownCommand, SimulatesFilesOverTheStorageOfTheCluster) {
  Json cluster = Json::parse(std::ifstream(ORRERY_SOURCES "/configs/clusters/a6000-4x4-pcie.json"));
  cluster["storage"] = {{"bytes_per_second", {{"value", 1e6}, {"source", "made up"}}},
                        {"shared_bytes_per_second", {{"value", 2e6}, {"source", "made up"}}}};
  cluster["server"]["usd_per_hour"] = {{"value", 7.2}, {"source", "made up"}};
  std::ofstream(in("cluster.json")) << cluster;
  const auto breakdown = [&](const std::string& more) {
    return orrery(
        fmt::format("breakdown {} --methods metis,hash --set backend=sim --set "
                    "'cluster={{\"file\": \"{}\", \"servers\": 4, "
                    "\"gpus_per_server\": 1}}' --out {} {}",
                    trained(), in("cluster.json").string(), in("made").string(), more));
  };
  ASSERT_EQ(breakdown("--json"), 0) << read("err");
  const Json told = Json::parse(read("out"));
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/breakdown.json").rdbuf();
  EXPECT_NO_THROW(validate_against(schema.str(), told));
  const double load = told["storage_load_seconds"];
  EXPECT_NEAR(told["storage_load_everywhere_seconds"], 2 * load, 1e-3)
      << "four servers at 2 MB/s after one at 1";
  for (const Json& method : told["methods"]) {
    const double bytes = method["parts_bytes"], load_parts = method["storage_load_parts_seconds"];
    EXPECT_NEAR(method["storage_save_seconds"], bytes / 1e6, 1e-3);
    EXPECT_GE(load_parts, bytes / 2e6 - 0.02) << "meta.json of the whole is no part";
    EXPECT_LT(load_parts, bytes / 1e6);
    EXPECT_NEAR(method["usd_per_epoch"], method["epoch_seconds"].get<double>() * 4 * 7.2 / 3600,
                1e-15);
    const Json run = json("made/" + method["method"].get<std::string>() + "/result.json");
    EXPECT_EQ(run["usd_per_epoch"], method["usd_per_epoch"]);
    EXPECT_NEAR(run["loading"]["seconds"], 2 * load, 1e-3) << "a run reads the whole set";
  }
  ASSERT_EQ(breakdown(""), 0) << read("err");
  EXPECT_THAT(read("out"), HasSubstr("files pass its storage"));
  EXPECT_THAT(read("out"), HasSubstr("price of an epoch"));
}

TEST_F(BreakdownCommand, TakesAFileWhoseVerticesArePermuted) {
  EXPECT_EQ(orrery(fmt::format("breakdown {} --set 'strategy={{\"type\": \"spmm_1d\", "
                               "\"permute\": true}}' --out {}",
                               trained(), in("made").string())),
            0)
      << read("err");
}

TEST_F(BreakdownCommand, RefusesWhatCannotBeCutHere) {
  const auto refused = [&](const std::string& more, const std::string& words) {
    EXPECT_EQ(orrery(fmt::format("breakdown {} {} --out {}", trained(), more, in("no").string())),
              2)
        << more;
    EXPECT_THAT(read("err"), HasSubstr(words));
    EXPECT_FALSE(std::filesystem::exists(in("no")));
  };
  refused("--set backend=mpi", "set it to threads or sim");
  refused("--set dataset.magnify=2", "dataset.magnify: found 2, but copies");
  refused("--methods metis,metis", "name each method once");
  refused("--methods metsi", "metis");
  refused("--set 'sweep={\"seed\": [1, 2]}'", "one experiment at a time");
}

}  // namespace
}  // namespace orrery
