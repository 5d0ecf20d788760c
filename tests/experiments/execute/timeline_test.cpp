// timeline.json of every kind of run, as Perfetto reads it.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "tests/experiments/commands/started_program.hpp"
#include "tests/experiments/execute/perfetto_rule.hpp"

namespace orrery {
namespace {

class TimelineFile : public testing::StartedProgram {
 protected:
  /// Runs with these arguments and expects that nothing of its timeline is dropped.
  void expect_whole(const std::string& arguments, const std::string& environment = "") {
    const std::string file = experiment(R"(, "strategy": {"type": "spmm_1d", "overlap": true},
                                            "train": {"epochs": 3})");
    ASSERT_EQ(
        orrery("run " + file + " --force --out " + in("a").string() + " " + arguments, environment),
        0)
        << read("err");
    const nlohmann::json trace = json("a/timeline.json");
    std::map<std::string, int> lanes;
    for (const auto& event : trace["traceEvents"])
      if (event["name"] == "thread_name") ++lanes[event["args"]["name"].get<std::string>()];
    EXPECT_GT(lanes["compute"], 1) << "a row of each rank";
    EXPECT_GT(lanes["comm"], 1);
    EXPECT_EQ(testing::dropped_slices(trace, testing::cut), std::vector<std::string>{})
        << arguments;
    expect_arrows(trace);
    EXPECT_EQ(trace["otherData"]["epochs"], (std::vector<int>{1, 2})) << "without the cold one";
    EXPECT_EQ(trace["otherData"]["config"]["strategy"]["type"], "spmm_1d");
    EXPECT_EQ(trace["otherData"]["made"],
              arguments.find("sim") == std::string::npos ? "measured" : "simulated");
  }

  /// There are arrows, and both ends of each lie at the beginning of a slice that communicates.
  static void expect_arrows(const nlohmann::json& trace) {
    const auto place = [](const nlohmann::json& event) {
      return std::tuple(event["pid"].get<int>(), event["tid"].get<int>(),
                        event["ts"].get<double>());
    };
    std::set<std::tuple<int, int, double>> begins;
    for (const auto& event : trace["traceEvents"])
      if (event["ph"] == "X" && event["cat"].get<std::string>().starts_with("communication,"))
        begins.insert(place(event));
    std::map<int, std::set<int>> ends;  // of each arrow, the ranks
    for (const auto& event : trace["traceEvents"])
      if (event["ph"] == "s" || event["ph"] == "f") {
        EXPECT_TRUE(begins.contains(place(event))) << event;
        ends[event["id"]].insert(event["pid"].get<int>());
      }
    EXPECT_FALSE(ends.empty());
    for (const auto& [id, ranks] : ends) EXPECT_EQ(ranks.size(), 2U) << id;
  }
};

TEST_F(TimelineFile, OfThreadsIsShownWhole) { expect_whole("--set cluster.ranks=3"); }

TEST_F(TimelineFile, HasTheEpochsThatAreAskedFor) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"},
                                      "train": {"epochs": 6}, "cluster": {"ranks": 2})");
  const auto epochs = [&](const std::string& arguments) {
    EXPECT_EQ(orrery("run " + file + " --force --out " + in("a").string() + " " + arguments), 0)
        << read("err");
    return json("a/timeline.json")["otherData"]["epochs"].get<std::vector<int>>();
  };

  EXPECT_EQ(epochs(""), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(epochs("--timeline-epochs 2"), (std::vector<int>{1, 2}));
  EXPECT_EQ(epochs("--timeline-epochs 0-0"), (std::vector<int>{0}));
  EXPECT_EQ(epochs("--timeline-epochs 4-9"), (std::vector<int>{4, 5}));
  EXPECT_EQ(epochs("--timeline-epochs 2 --set train.epochs=1"), (std::vector<int>{0}));
  EXPECT_EQ(orrery("run " + file + " --force --out " + in("b").string() + " --timeline-epochs 6-7"),
            2);
  EXPECT_NE(read("err").find("there are 6 epochs"), std::string::npos) << read("err");
  EXPECT_EQ(orrery("run " + file + " --timeline-epochs 7-6"), 2);
  EXPECT_NE(read("err").find("expected a number of epochs"), std::string::npos) << read("err");
}

/// Levels of memory are those of a file that shows all epochs.
TEST_F(TimelineFile, KnowsTheMemoryThatWasTakenBeforeItsEpochs) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"},
                                      "train": {"epochs": 5}, "cluster": {"ranks": 2})");
  const auto levels = [&](const std::string& epochs) {
    EXPECT_EQ(orrery("run " + file + " --force --out " + in("a").string() +
                     " --set train.eval_every=1 --timeline-epochs " + epochs),
              0);
    std::map<int, std::pair<double, double>> most_and_last;
    const nlohmann::json trace = json("a/timeline.json");
    for (const auto& event : trace["traceEvents"])
      if (event["ph"] == "C") {
        auto& [most, last] = most_and_last[event["pid"]];
        last = event["args"]["bytes"];
        most = std::max(most, last);
      }
    return most_and_last;
  };

  EXPECT_EQ(levels("4-4"), levels("0-4"));
}

TEST_F(TimelineFile, OfGpusIsShownWhole) {
  expect_whole("--set cluster.ranks=2 --set kernels=cuda",
               "ORRERY_CUDA_LIBRARY='" ORRERY_EMULATED_LIBRARY "' ORRERY_EMULATE_LAZILY=1");
}

TEST_F(TimelineFile, OfASimulationIsShownWhole) {
  for (const char* cluster :
       {R"({"file": "dgx-1", "gpus": 8})", R"({"file": "dgx-a100", "gpus": 8})"})
    expect_whole(fmt::format("--backend sim --set 'cluster={}'", cluster));
}

}  // namespace
}  // namespace orrery
