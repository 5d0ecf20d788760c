// orrery sweep: killed at any moment it goes on, and every combination is there once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "experiments/results/sweep_log.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::string kTwenty = R"({"name": "twenty",
  "dataset": {"generate": "communities", "vertices": 300, "edges": 1500, "features": 8},
  "model": {"type": "gcn", "hidden": 8}, "strategy": {"type": "full_graph"},
  "train": {"epochs": 3},
  "sweep": {"strategy.type": ["full_graph", "spmm_1d"], "cluster.ranks": [1, 2],
            "model.hidden": [2, 4, 6, 8, 10]}})";

class SweepCommand : public ::testing::Test {
 protected:
  SweepCommand() {
    std::string name = (fs::path(::testing::TempDir()) / "orrery_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::ofstream(folder_ / "e.json") << kTwenty;
  }
  ~SweepCommand() override { fs::remove_all(folder_); }

  /// Starts the sweep in folder_/out, without output; `more` are further arguments.
  pid_t start(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{ORRERY_BINARY, "sweep", (folder_ / "e.json").string(), "--out",
                                   (folder_ / "out").string()};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, 1);
      ::dup2(null, 2);
      ::execv(ORRERY_BINARY, arguments.data());
      ::_exit(127);
    }
    return child;
  }
  static int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int run(const std::vector<std::string>& more = {}) const { return wait_for(start(more)); }

  fs::path log() const { return folder_ / "out" / "results.jsonl"; }
  std::vector<Json> lines() const {
    std::ifstream in(log());
    std::vector<Json> list;
    for (std::string line; std::getline(in, line);) list.push_back(Json::parse(line));
    return list;
  }
  Json sweep_json() const { return Json::parse(std::ifstream(folder_ / "out" / "sweep.json")); }

  fs::path folder_;
};

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST_F(SweepCommand, KilledAtRandomMomentsHasEveryCombinationOnceAndRepeatsNone) {
  Sequence draws(7, Purpose::edges, 0);
  int kills = 0;
  std::size_t most = 0;

  for (int attempt = 0; attempt < 12; ++attempt) {
    const pid_t child = start();
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + draws.below(150)));
    ::kill(child, SIGKILL);
    if (wait_for(child) == -SIGKILL) ++kills;
    if (!fs::exists(log())) continue;
    std::ifstream in(log());
    std::size_t now = 0;
    for (std::string line; std::getline(in, line) && !in.eof();) ++now;
    EXPECT_GE(now, most) << "nothing that was there is lost";
    most = now;
  }
  ASSERT_EQ(run(), 0);

  EXPECT_GE(kills, 1);
  std::map<std::string, int> seen;
  for (const Json& line : lines()) ++seen[line["label"].get<std::string>()];
  EXPECT_EQ(seen.size(), 20U);
  for (const auto& [label, times] : seen) EXPECT_EQ(times, 1) << label;
  EXPECT_EQ(sweep_json()["sweep"].size(), 20U);
  EXPECT_EQ(sweep_json()["missing"], 0);
  EXPECT_FALSE(sweep_json().contains("mean_test_accuracy")) << "they differ in more than a seed";
}

TEST_F(SweepCommand, ThatIsDoneRunsNothingAgain) {
  ASSERT_EQ(run(), 0);
  const std::string before = text_of(log());

  ASSERT_EQ(run(), 0);

  EXPECT_EQ(text_of(log()), before);
  EXPECT_EQ(sweep_json()["sweep"].size(), 20U);
}

TEST_F(SweepCommand, DropsALineThatWasNotFinishedAndRunsItsCombinationAgain) {
  ASSERT_EQ(run(), 0);
  const std::string whole = text_of(log());
  fs::resize_file(log(), whole.size() - 10);

  ASSERT_EQ(run(), 0);

  const auto all = lines();
  ASSERT_EQ(all.size(), 20U);
  EXPECT_NE(text_of(log()), whole) << "the last one has another time";
}

TEST_F(SweepCommand, RunsWhatAChangedSettingMakesNew) {
  ASSERT_EQ(run({"--set", "sweep.model.hidden=[2]"}), 0);
  ASSERT_EQ(lines().size(), 4U);

  ASSERT_EQ(run({"--set", "sweep.model.hidden=[2, 3]"}), 0);

  EXPECT_EQ(lines().size(), 8U);
  EXPECT_EQ(sweep_json()["sweep"].size(), 8U);
}

TEST_F(SweepCommand, LeavesLinesWithTheirSettingsAndTheirWholeConfiguration) {
  ASSERT_EQ(run({"--set", "sweep.model.hidden=[2]", "--set", "seed=9"}), 0);

  ASSERT_EQ(lines().size(), 4U);
  const Json first = lines()[0];
  EXPECT_EQ(first["settings"],
            (Json{{"strategy.type", "full_graph"}, {"cluster.ranks", 1}, {"model.hidden", 2}}));
  EXPECT_EQ(first["config"]["seed"], 9);
  EXPECT_EQ(first["config"]["model"]["hidden"], 2);
  EXPECT_EQ(first["config"], Json::parse(text_of(folder_ / "out" /
                                                 "strategy.type=full_graph_cluster.ranks=1_model."
                                                 "hidden=2" /
                                                 "config.json")));
}

TEST_F(SweepCommand, OfAnotherFileIsRefusedBeforeAnythingIsReplaced) {
  const std::vector<std::string> seeds{"--set", "sweep={\"seed\": [1, 2]}"};
  ASSERT_EQ(run(seeds), 0);
  const std::string log_before = text_of(log()), told = text_of(folder_ / "out" / "sweep.json");

  const int wider = run({seeds[0], seeds[1], "--set", "model.hidden=16"});
  const int simulated = run(
      {seeds[0], seeds[1], "--backend", "sim", "--set", R"(cluster={"file": "dgx-1", "gpus": 2})"});

  EXPECT_EQ(wider, 2);
  EXPECT_EQ(simulated, 2);
  EXPECT_EQ(text_of(log()), log_before);
  EXPECT_EQ(text_of(folder_ / "out" / "sweep.json"), told);
  EXPECT_EQ(run({"--set", "sweep={\"seed\": [3]}"}), 0) << "more of the same";
  EXPECT_EQ(lines().size(), 3U);
}

TEST_F(SweepCommand, IntoTheFolderOfASweepThatRunDidIsRefused) {
  const std::string out = (folder_ / "out").string();
  ASSERT_EQ(std::system(fmt::format("'{}' run '{}' --out '{}' --quiet >/dev/null 2>&1",
                                    ORRERY_BINARY, (folder_ / "e.json").string(), out)
                            .c_str()),
            0);
  const std::string told = text_of(folder_ / "out" / "sweep.json");

  EXPECT_EQ(run({"--set", "train.epochs=1"}), 1);

  EXPECT_EQ(text_of(folder_ / "out" / "sweep.json"), told);
  EXPECT_FALSE(fs::exists(log()));
}

TEST_F(SweepCommand, OnAClusterFileThatWasEditedIsRefused) {
  fs::copy_file(ORRERY_SOURCES "/configs/clusters/dgx-1.json", folder_ / "c.json");
  const std::vector<std::string> here{"--backend", "model",
                                      "--set",     "sweep={\"seed\": [1]}",
                                      "--set",     "strategy.type=spmm_1d",
                                      "--set",     "cluster={\"file\": \"c.json\", \"gpus\": 2}"};
  ASSERT_EQ(run(here), 0);
  std::ofstream(folder_ / "c.json", std::ios::app) << "\n";

  EXPECT_EQ(run(here), 1);
  EXPECT_EQ(lines().size(), 1U);
}

TEST_F(SweepCommand, TakesACombinationThatRunsOutOfMemoryForDone) {
  const std::vector<std::string> small{"--set",
                                       R"(sweep={"cluster.device_bytes": [1000, 100000000]})"};

  ASSERT_EQ(run(small), 0);
  ASSERT_EQ(run(small), 0);

  ASSERT_EQ(lines().size(), 2U);
  EXPECT_TRUE(lines()[0]["result"]["out_of_memory"].contains("tensor"));
  EXPECT_TRUE(lines()[0]["result"]["epoch_seconds"].is_null());
  EXPECT_GT(lines()[1]["result"]["epoch_seconds"], 0);
  EXPECT_EQ(sweep_json()["sweep"].size(), 2U);
}

TEST_F(SweepCommand, LeavesTheResultOfARunAlone) {
  fs::create_directories(folder_ / "out");
  std::ofstream(folder_ / "out" / "result.json") << "{}";

  EXPECT_EQ(run(), 1);

  EXPECT_EQ(text_of(folder_ / "out" / "result.json"), "{}");
}

TEST_F(SweepCommand, RefusesALogOfSomethingElse) {
  std::ofstream(folder_ / "log") << "{\"a\": 1}\n";

  EXPECT_THROW(SweepLog(folder_ / "log"), DataError);
}

TEST(ConfigHash, ChangesWithASettingAndWithTheClusterFile) {
  std::string name = (fs::path(::testing::TempDir()) / "orrery_XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  fs::copy_file(ORRERY_SOURCES "/configs/clusters/dgx-1.json", folder / "c.json");
  std::ofstream(folder / "e.json") << kTwenty;
  const auto hash = [&](const std::vector<std::string>& more) {
    std::vector<std::string> set{"sweep={\"seed\": [1]}"};
    set.insert(set.end(), more.begin(), more.end());
    return config_hash(load_experiments((folder / "e.json").string(), set).front());
  };
  const std::string cluster = "cluster={\"file\": \"c.json\"}";

  const std::string plain = hash({}), with = hash({cluster});
  std::ofstream(folder / "c.json", std::ios::app) << "\n";

  EXPECT_EQ(plain, hash({}));
  EXPECT_NE(plain, hash({"seed=2"}));
  EXPECT_NE(plain, with);
  EXPECT_NE(with, hash({cluster})) << "the cluster file was edited";
  fs::remove_all(folder);
}

}  // namespace
}  // namespace orrery
