// `orrery trace`: the files that it writes, and what it refuses.
#include <gmock/gmock.h>

#include "experiments/config/validate_json.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

class TraceCommand : public testing::StartedProgram {
 protected:
  std::string simulated() const {
    return experiment(R"(, "cluster": {"file": "dgx-1", "gpus": 4}, "backend": "sim",
        "train": {"epochs": 2}, "strategy": {"type": "spmm_15d", "replication": 2})");
  }
  int trace(const std::string& options) const {
    return orrery(fmt::format("trace {} --out {} {}", simulated(), in("made").string(), options));
  }
};

TEST_F(TraceCommand, WritesAFileForEachRank) {
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/trace.json").rdbuf();

  ASSERT_EQ(trace("--json"), 0) << read("err");

  const Json told = Json::parse(read("out"));
  EXPECT_NO_THROW(validate_against(schema.str(), told));
  EXPECT_EQ(told, json("made/trace.json"));
  std::uintmax_t bytes = 0;
  for (int r = 0; r < 4; ++r) bytes += fs::file_size(in(fmt::format("made/small.{}.et", r)));
  EXPECT_EQ(told["file_bytes"], bytes);
  EXPECT_GT(told["message_bytes"], 0);
}

/// Their groups are a file of their own; what is left of the messages is less.
TEST_F(TraceCommand, LeavesCollectivesToTheReader) {
  ASSERT_EQ(trace("--json"), 0) << read("err");
  const Json messages = Json::parse(read("out"));
  ASSERT_EQ(trace("--json --force --collectives whole"), 0) << read("err");
  const Json whole = Json::parse(read("out"));

  EXPECT_EQ(messages["whole_collectives"], 0);
  EXPECT_GT(whole["whole_collectives"], 0);
  EXPECT_LT(whole["message_bytes"], messages["message_bytes"]);
  const Json groups = json("made/comm_group.json");
  for (const auto& [group, ranks] : groups.items()) EXPECT_LT(ranks.size(), 4U) << group;
}

TEST_F(TraceCommand, ReplacesOnlyTraces) {
  ASSERT_EQ(trace("--format goal"), 0) << read("err");
  EXPECT_THAT(read("made/small.goal"), HasSubstr("num_ranks 4\n"));
  EXPECT_EQ(trace("--format goal"), 1);
  EXPECT_THAT(read("err"), HasSubstr("--force"));
  std::ofstream(in("made/mine.txt")) << "kept";
  EXPECT_EQ(trace("--format goal --force"), 1);
  EXPECT_EQ(read("made/mine.txt"), "kept");
  fs::remove(in("made/mine.txt"));
  EXPECT_EQ(trace("--format chakra --force"), 0) << read("err");
  EXPECT_FALSE(fs::exists(in("made/small.goal")));
}

TEST_F(TraceCommand, RefusesWhatNoTraceHas) {
  EXPECT_EQ(trace("--epoch 7"), 2);
  EXPECT_THAT(read("err"), HasSubstr("epochs 0 to 1 are recorded"));
  EXPECT_EQ(trace("--format goal --collectives whole"), 2);
  EXPECT_THAT(read("err"), HasSubstr("GOAL has no collectives"));
  EXPECT_EQ(
      trace(R"(--set 'cluster={"ranks": 2}' --set backend=threads --set strategy.replication=1)"),
      2);
  EXPECT_THAT(read("err"), HasSubstr("cluster.file"));
  EXPECT_FALSE(fs::exists(in("made"))) << "nothing is left of a trace that failed";
}

}  // namespace
}  // namespace orrery
