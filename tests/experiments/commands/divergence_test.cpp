// A training whose loss is no finite number any more: what is told, what is kept, what goes on.
#include <algorithm>

#include "tests/experiments/commands/started_program.hpp"
#include "tests/support/mpirun.hpp"

namespace orrery {
namespace {

class DivergedProgram : public testing::StartedProgram {
 protected:
  /// Steps that are far too long; `more`: further keys, with a comma in front.
  std::string diverging(const std::string& more = "") const {
    return experiment(R"(, "strategy": {"type": "full_graph"}, "cluster": {"ranks": 2},
        "train": {"epochs": 400, "optimizer": "sgd", "learning_rate": 1000000,
                  "checkpoint_every": 1})" +
                      more);
  }
  void expect_told(const std::string& folder) const {
    const auto result = json(folder + "/result.json");
    ASSERT_TRUE(result["diverged_at_epoch"].is_number()) << result["diverged_at_epoch"];
    const int at = result["diverged_at_epoch"];
    EXPECT_LT(at, 399);
    EXPECT_EQ(result["epochs"], at + 1);
    EXPECT_EQ(result["interrupted"], false);
    EXPECT_GE(result["divergence"]["layer"], 1);
    const std::string log = read(folder + "/epochs.jsonl"), told = read("err");
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), at + 1);
    const std::string line =
        fmt::format("training diverged and was stopped: the loss of epoch {} (from 0) is", at);
    const auto first = told.find("orrery: error: ");
    ASSERT_NE(first, std::string::npos) << told;
    EXPECT_NE(told.find(line, first), std::string::npos) << told;
    EXPECT_EQ(told.find("orrery: error: ", first + 1), std::string::npos) << told;
  }
};

TEST_F(DivergedProgram, EndsWithOneAndKeepsItsEpochs) {
  EXPECT_EQ(orrery("run " + diverging() + " --quiet --out " + in("a").string()), 1);
  expect_told("a");
  const std::string result = read("a/result.json");

  EXPECT_EQ(orrery("run " + in("e.json").string() + " --resume --out " + in("a").string()), 1);
  EXPECT_NE(read("err").find("training diverged in epoch"), std::string::npos) << read("err");
  EXPECT_EQ(read("a/result.json"), result);
}

TEST_F(DivergedProgram, LeavesTheOtherCombinationsOfASweep) {
  const std::string file = diverging(R"(, "sweep": {"train.learning_rate": [1000000, 0.01]})");
  const std::string command = "sweep " + file + " --set train.epochs=20 --out " + in("s").string();

  for (const char* once : {"run", "taken from the log"}) {
    EXPECT_EQ(orrery(command), 1) << once;
    const auto sweep = json("s/sweep.json")["sweep"];
    ASSERT_EQ(sweep.size(), 2U);
    EXPECT_TRUE(sweep[0]["diverged_at_epoch"].is_number());
    EXPECT_TRUE(sweep[1]["diverged_at_epoch"].is_null());
    EXPECT_EQ(sweep[1]["epochs"], 20);
    EXPECT_NE(read("err").find("train.learning_rate=1000000: training diverged"), std::string::npos)
        << read("err");
  }
}

#ifdef ORRERY_MPIRUN
TEST_F(DivergedProgram, IsToldByOneOfManyProcesses) {
  EXPECT_EQ(shell(fmt::format("{} '{}' run {} --backend mpi --out {}", testing::mpirun(2),
                              ORRERY_MPI, diverging(), in("a").string())),
            1);
  expect_told("a");
  EXPECT_FALSE(std::filesystem::exists(in("a/failure.json")));
}
#endif

}  // namespace
}  // namespace orrery
