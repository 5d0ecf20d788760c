// Runs that are killed, and go on.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/rng.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string read(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// Runs the program itself.
class KilledRun : public ::testing::Test {
 protected:
  KilledRun() { fs::create_directories(folder_); }
  ~KilledRun() override { fs::remove_all(folder_); }

  static constexpr int kEpochs = 90;

  /// Exit status of `orrery run` on the test's experiment; `before` is put in front of it.
  int run(const std::string& folder, const std::string& arguments, const std::string& before = "") {
    const std::string command =
        fmt::format("{} '{}' run '{}' --out '{}' --quiet --json {} >'{}/out' 2>'{}/err'", before,
                    ORRERY_BINARY, (folder_ / "experiment.json").string(),
                    (folder_ / folder).string(), arguments, folder_.string(), folder_.string());
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void write_experiment() {
    std::ofstream(folder_ / "experiment.json") << fmt::format(
        R"({{"name": "killed", "seed": 5,
            "dataset": {{"generate": "communities", "vertices": 3000, "edges": 20000}},
            "model": {{"type": "gcn", "hidden": 32}}, "strategy": {{"type": "full_graph"}},
            "cluster": {{"ranks": 3}}, "train": {{"epochs": {}, "checkpoint_every": 4}}}})",
        kEpochs);
  }
  Json result(const std::string& folder) const {
    return Json::parse(read(folder_ / folder / "result.json"));
  }
  std::string errors() const { return read(folder_ / "err"); }

  /// Each epoch once, in order.
  void expect_whole_log(const std::string& folder) const {
    std::ifstream in(folder_ / folder / "epochs.jsonl");
    int expected = 0;
    for (std::string line; std::getline(in, line); ++expected)
      EXPECT_EQ(Json::parse(line)["epoch"], expected);
    EXPECT_EQ(expected, kEpochs);
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("orrery-killed-{}", ::getpid());
};

/// What is put in front of a command to kill it once `waits`, a shell's test, is false.
std::string killed_after(const std::string& waits) {
  return fmt::format(
      "sh -c '\"$@\" & run=$!; while kill -0 $run && {}; do sleep 0.005; done; "
      "kill -9 $run; wait $run' killed",
      waits);
}

/// Ten times: SIGKILL at a random epoch, then again while it resumes, then to the end. The epochs in
/// its log say when: a share of the time of an undisturbed run would say little where others work too.
TEST_F(KilledRun, ResumesToTheLossOfAnUndisturbedOne) {
  write_experiment();
  ASSERT_EQ(run("whole", ""), 0) << errors();
  const Json whole = result("whole");
  Sequence draws(20240717, Purpose::edges, 3);
  int killed = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string folder = fmt::format("run{}", i);
    const auto killed_in = [&](double from, double to) {
      const double epoch = kEpochs * (from + (to - from) * draws.uniform());
      return killed_after(fmt::format("[ $(cat {}/epochs.jsonl 2>/dev/null | wc -l) -lt {:.0f} ]",
                                      (folder_ / folder).string(), epoch));
    };

    killed += run(folder, "--resume", killed_in(0, 0.4)) != 0 ? 1 : 0;
    killed += run(folder, "--resume", killed_in(0.4, 0.8)) != 0 ? 1 : 0;
    ASSERT_EQ(run(folder, "--resume"), 0) << errors();

    const Json resumed = result(folder);
    EXPECT_EQ(resumed["loss"], whole["loss"]);
    EXPECT_EQ(resumed["test_accuracy"], whole["test_accuracy"]);
    EXPECT_EQ(resumed["epochs"], kEpochs);
    EXPECT_GT(resumed["epoch_seconds"], 0);
    expect_whole_log(folder);
  }
  EXPECT_GE(killed, 16) << "of 20: most were killed before their end";
}

/// From the first epoch's own checkpoint: 0 is an epoch too.
TEST_F(KilledRun, WithinItsFirstEpochSaysThatItWentOnFromThere) {
  std::ofstream(folder_ / "experiment.json")
      << R"({"name": "killed", "dataset": {"generate": "communities", "vertices": 6000, "edges": 40000},
             "model": {"type": "gcn", "hidden": 32}, "cluster": {"ranks": 2},
             "strategy": {"type": "mini_batch", "batch": 1, "fanouts": [4, 4]},
             "train": {"epochs": 1, "checkpoint_steps": 20, "eval_every": 0}})";
  const fs::path kept = folder_ / "a" / "checkpoint.bin";

  ASSERT_NE(run("a", "", killed_after(fmt::format("[ ! -e {} ]", kept.string()))), 0);
  ASSERT_EQ(run("a", "--resume"), 0) << errors();
  ASSERT_EQ(run("b", ""), 0) << errors();

  EXPECT_EQ(result("a")["resumed_from_epoch"], 0);
  EXPECT_TRUE(result("b")["resumed_from_epoch"].is_null());
  EXPECT_EQ(result("a")["loss"], result("b")["loss"]);
}

TEST_F(KilledRun, ThatIsCompleteHasNothingToResume) {
  write_experiment();
  ASSERT_EQ(run("a", ""), 0) << errors();
  const std::string before = read(folder_ / "a" / "result.json");
  const auto half = folder_ / "a" / "timeline.json.part";  // killed while it wrote its last file
  std::ofstream(half) << "half";

  EXPECT_EQ(run("a", "--resume"), 0);

  EXPECT_NE(errors().find("is complete, there is nothing to resume"), std::string::npos);
  EXPECT_EQ(read(folder_ / "a" / "result.json"), before);
  EXPECT_FALSE(std::filesystem::exists(half));
}

TEST_F(KilledRun, ThatIsCompleteIsHeldAgainstWhatIsAsked) {
  write_experiment();
  ASSERT_EQ(run("a", "--set train.epochs=8"), 0) << errors();

  EXPECT_EQ(run("a", "--resume --set train.epochs=8 --set model.hidden=16"), 2);
  EXPECT_NE(errors().find("model.hidden: is 16 here, but 32 in "), std::string::npos) << errors();
  EXPECT_EQ(run("a", "--resume --set train.epochs=5"), 2);
  EXPECT_NE(errors().find("holds a run of 8 epochs"), std::string::npos) << errors();
  EXPECT_EQ(run("a", "--resume --force"), 2);
  EXPECT_EQ(run("a", "--resume"), 0) << errors();
  EXPECT_EQ(result("a")["resumed_from_epoch"], 8);
  expect_whole_log("a");
}

TEST_F(KilledRun, OnAFullDiskSaysSoAndLeavesTheOldCheckpointWhole) {
  write_experiment();
  ASSERT_EQ(run("a", "--set train.epochs=4"), 0) << errors();
  fs::remove(folder_ / "a" / "result.json");
  const std::string kept = read(folder_ / "a" / "checkpoint.bin");
  ASSERT_GT(kept.size(), 2 * 8192U);

  // No file may grow beyond 16 blocks: as when the disk is full, writing fails half-way.
  const int status = run("a", "--resume", "trap '' XFSZ; ulimit -f 16;");

  EXPECT_EQ(status, 1);
  EXPECT_NE(errors().find("checkpoint.bin: cannot be written: File too large"), std::string::npos)
      << errors();
  EXPECT_EQ(read(folder_ / "a" / "checkpoint.bin"), kept);
  EXPECT_FALSE(fs::exists(folder_ / "a" / "checkpoint.bin.part"));
  ASSERT_EQ(run("a", "--resume"), 0) << errors();
  expect_whole_log("a");
}

TEST_F(KilledRun, DoesNotResumeAnotherModelNorASweepNorWithoutAFolder) {
  write_experiment();
  ASSERT_EQ(run("a", "--set train.epochs=4"), 0) << errors();
  fs::remove(folder_ / "a" / "result.json");

  EXPECT_EQ(run("a", "--resume --set model.hidden=16"), 2);
  EXPECT_NE(errors().find("model.hidden: is 16 here, but 32 in "), std::string::npos);
  EXPECT_EQ(run("a", "--resume --set 'sweep={\"seed\": [5, 6]}'"), 2);
  EXPECT_NE(errors().find("--resume: resumes one run"), std::string::npos);
}

}  // namespace
}  // namespace orrery
