// Runs whose disk is full at their end.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

class FullDisk : public testing::StartedProgram {
 protected:
  /// Runs in which no file may grow beyond this many KiB: as when the disk is full, writing fails
  /// half-way.
  int with_files_up_to(int kib, const std::string& arguments) const {
    return shell(
        fmt::format("trap '' XFSZ; ulimit -f {}; '{}' {}", 2 * kib, ORRERY_BINARY, arguments));
  }
};

/// All files of such a run are small, but for its timeline.
TEST_F(FullDisk, AtTheEndOfARunTakesNeitherItsResultNorItsTable) {
  const std::string file = experiment(R"(, "strategy": {"type": "spmm_1d"}, "cluster": {"ranks": 3},
                      "train": {"epochs": 6}, "timeline": {"epochs": 6})");

  const int status = with_files_up_to(16, "run " + file + " --out " + in("a").string());

  EXPECT_EQ(status, 1);
  EXPECT_NE(read("err").find("timeline.json: cannot be written: File too large"), std::string::npos)
      << read("err");
  EXPECT_EQ(json("a/result.json")["epochs"], 6);
  EXPECT_NE(read("out").find("moved/epoch"), std::string::npos) << "the table: " << read("out");
  EXPECT_FALSE(std::filesystem::exists(in("a/timeline.json")));
  EXPECT_FALSE(std::filesystem::exists(in("a/timeline.json.part")));
}

/// Not even the log of the epochs can be written whole.
TEST_F(FullDisk, DuringARunTakesItsLogAndNotItsTable) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"},
                                           "train": {"epochs": 200}, "timeline": {"epochs": 0})");

  const int status = with_files_up_to(12, "run " + file + " --out " + in("a").string());

  EXPECT_EQ(status, 1);
  EXPECT_NE(read("err").find("epochs.jsonl: cannot be written: File too large"), std::string::npos)
      << read("err");
  EXPECT_EQ(json("a/result.json")["epochs"], 200);
  EXPECT_NE(read("out").find("moved/epoch"), std::string::npos) << "the table: " << read("out");
}

TEST_F(FullDisk, EndsASweepWithTheTablesOfWhatWasRun) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"},
      "train": {"epochs": 4}, "timeline": {"epochs": 4}, "cluster": {"ranks": 2},
      "sweep": {"model.hidden": [4, 8]})");

  const int status = with_files_up_to(10, "sweep " + file + " --out " + in("a").string());

  EXPECT_EQ(status, 1);
  EXPECT_TRUE(std::filesystem::exists(in("a/model.hidden=4/result.json")));
  EXPECT_NE(read("out").find("moved/epoch"), std::string::npos) << "the table: " << read("out");
}

}  // namespace
}  // namespace orrery
