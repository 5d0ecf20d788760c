// `orrery caches`: what it prints and draws, and what it cannot be asked.
#include <gmock/gmock.h>

#include "experiments/config/validate_json.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class Caches : public testing::StartedProgram {
 protected:
  std::string sampled() const {
    return experiment(R"(, "cluster": {"ranks": 3},
        "strategy": {"type": "mini_batch", "batch": 30, "fanouts": [5, 3]})");
  }
};

/// The hits of the first epoch of a training that has such a cache.
TEST_F(Caches, SaysWhatARunFinds) {
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/caches.json").rdbuf();
  const std::string file = sampled();
  ASSERT_EQ(orrery(fmt::format("caches {} --shares 0.25,1.5 --json", file)), 0) << read("err");
  const Json told = Json::parse(read("out"));
  EXPECT_NO_THROW(validate_against(schema.str(), told));
  for (const std::size_t size : {0U, 1U})
    for (const Json& policy : told["policies"]) {
      const auto bytes = told["sizes"][size]["bytes_per_rank"].get<std::int64_t>();
      const std::string cache = fmt::format(R"({{"policy": "{}", "bytes": {}}})",
                                            policy["policy"].get<std::string>(), bytes);
      ASSERT_EQ(orrery(fmt::format("run {} --set train.epochs=1 --set 'strategy.cache={}' --quiet "
                                   "--json --out {}",
                                   file, cache, in("made").string() + " --force")),
                0)
          << read("err");
      const Json run = Json::parse(read("out"));
      EXPECT_EQ(run["cache"]["kept_rows"], policy["hits"][size]) << cache;
      EXPECT_EQ(run["cache"]["foreign_rows"], told["requested_rows"]);
    }
}

/// A simulation that draws all batches of an epoch, and keeps what they ask for.
TEST_F(Caches, ReadsWhatASimulationKept) {
  const std::string file = experiment(R"(, "cluster": {"file": "a6000-1x4-pcie", "gpus": 3},
        "backend": "sim", "train": {"epochs": 1},
        "strategy": {"type": "mini_batch", "batch": 30, "fanouts": [5, 3]})");
  ASSERT_EQ(orrery(fmt::format("run {} --set simulation.accesses=true --json --out {}", file,
                               in("kept").string())),
            0)
      << read("err");
  EXPECT_THAT(read("err"), HasSubstr("accesses.npy: what "));
  const Json kept = Json::parse(read("out"))["simulation"]["accesses"];
  EXPECT_EQ(kept["bytes"], std::filesystem::file_size(in("kept/accesses.npy")) +
                               std::filesystem::file_size(in("kept/access_batches.npy")));

  ASSERT_EQ(orrery(fmt::format("caches {} --json", file)), 0) << read("err");
  const Json drawn = Json::parse(read("out"));
  ASSERT_EQ(orrery(fmt::format("caches {} --json --accesses {}", file, in("kept").string())), 0)
      << read("err");
  EXPECT_EQ(Json::parse(read("out")), drawn);
  EXPECT_EQ(kept["rows"], drawn["requested_rows"]);
  EXPECT_EQ(kept["batches"], drawn["batches"]);

  EXPECT_EQ(orrery(fmt::format("caches {} --accesses {} --set seed=6", file, in("kept").string())),
            1);
  EXPECT_THAT(read("err"), HasSubstr("another partition"));
}

TEST_F(Caches, PrintsATableAndDraws) {
  ASSERT_EQ(orrery(fmt::format("caches {} --svg {}", sampled(), in("c.svg").string())), 0)
      << read("err");
  EXPECT_THAT(read("out"), HasSubstr("most possible"));
  EXPECT_THAT(read("c.svg"), HasSubstr("</svg>"));
  EXPECT_THAT(read("c.svg"), HasSubstr("presampled"));
}

TEST_F(Caches, RefusesWhatHasNoSuchRows) {
  const auto refused = [&](const std::string& more, const std::string& words) {
    EXPECT_EQ(orrery(fmt::format("caches {} {}", sampled(), more)), 2) << more;
    EXPECT_THAT(read("err"), HasSubstr(words));
  };
  refused("--set 'strategy={\"type\": \"full_graph\"}'", "full_graph pulls no rows");
  refused("--set cluster.ranks=1", "set at least 2");
  refused("--set strategy.cooperative=true",
          "strategy.cooperative: a server fetches each row only");
  refused("--shares 0.5,0.1", "each larger than the one before it");
  refused("--shares 0", "above 0");
  refused("--epochs 0", "at least 1");
  refused("--set 'sweep={\"seed\": [1, 2]}' --svg x.svg", "a sweep of several");
}

}  // namespace
}  // namespace orrery
