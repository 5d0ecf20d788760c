// timeline.json of every kind of run, as Perfetto reads it.
#include <gtest/gtest.h>

#include <map>

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
  }
};

TEST_F(TimelineFile, OfThreadsIsShownWhole) { expect_whole("--set cluster.ranks=3"); }

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
