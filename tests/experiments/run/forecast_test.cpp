#include "experiments/run/forecast.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "experiments/calibrate/other_work.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/predict/interval.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct Ran {
  int code = -1;
  Json result;  ///< null where there is none
};

/// A real run of a few ranks, simulated afterwards on these clusters.
Ran run(int ranks, const std::string& clusters) {
  const std::filesystem::path folder = ::testing::TempDir() + "forecast";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "file.json")
      << R"({"name": "f", "dataset": {"generate": "communities", "vertices": 500, "edges": 2000},
             "model": {"type": "gcn"}, "strategy": {"type": "spmm_1d"}, "train": {"epochs": 3},
             "cluster": {"ranks": )"
      << ranks << R"(}, "simulate_on": )" << clusters << "}";
  const std::string out = (folder / "out").string();
  const int status =
      std::system((std::string(ORRERY_BINARY) + " run " + (folder / "file.json").string() +
                   " --quiet --out " + out + " > /dev/null 2>&1")
                      .c_str());
  Ran ran{WEXITSTATUS(status), nullptr};
  if (std::ifstream in(out + "/result.json"); in) ran.result = Json::parse(in);
  return ran;
}

TEST(Forecast, StandsInTheResultOfTheRealRun) {
  const Ran ran = run(2, R"(["dgx-1"])");

  ASSERT_EQ(ran.code, 0);
  EXPECT_EQ(ran.result["backend"], "threads");
  const Json& there = ran.result["simulated_on"]["dgx-1"];
  if (there.contains("not_simulated")) GTEST_SKIP() << there["not_simulated"];
  EXPECT_GT(there["epoch_seconds"].get<double>(), 0);
  EXPECT_TRUE(there["limited_by"].contains("sentence"));
  EXPECT_FALSE(there.contains("error")) << "an error is of this machine only";
}

TEST(Forecast, TellsWhatAClusterCannotTakeAndKeepsTheRun) {
  const Ran ran = run(3, R"(["a6000-1x2-nvlink", "dgx-1"])");

  ASSERT_EQ(ran.code, 0);
  EXPECT_FALSE(ran.result["test_accuracy"].is_null());
  const Json& told = ran.result["simulated_on"];
  EXPECT_TRUE(told["a6000-1x2-nvlink"]["epoch_seconds"].is_null());
  EXPECT_NE(told["a6000-1x2-nvlink"]["not_simulated"].get<std::string>().find("2"),
            std::string::npos);
  EXPECT_TRUE(told.contains("dgx-1"));
}

using ForecastOfSeveralServers = testing::StartedProgram;

/// Beside times that several servers took, this machine has no simulated time and no error, only
/// the reason.
void expect_not_of_this_machine(const Json& result, const std::string& why) {
  const Json& told = result["simulated_on"]["this-machine"];
  EXPECT_TRUE(told["epoch_seconds"].is_null()) << told;
  EXPECT_FALSE(told.contains("error")) << told;
  EXPECT_NE(told["not_simulated"].get<std::string>().find(why), std::string::npos) << told;
}

TEST_F(ForecastOfSeveralServers, ThatAStrategyGoesByIsNotOfThisMachine) {
  const std::string file = experiment(R"(, "strategy": {"type": "shared_preloading"},
      "cluster": {"servers": 2, "ranks_per_server": 1}, "train": {"epochs": 2},
      "simulate_on": ["this-machine"])");

  ASSERT_EQ(orrery("run " + file + " --out " + in("a").string()), 0) << read("err");

  expect_not_of_this_machine(json("a/result.json"), "depends on the 2 servers");
  EXPECT_NE(read("out").find("depends on the 2 servers"), std::string::npos) << "told in the table";
}

#ifdef ORRERY_MPIRUN
TEST_F(ForecastOfSeveralServers, ThatAreJoinedByShapedLinksIsNotOfThisMachine) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"},
      "train": {"epochs": 2}, "simulate_on": ["this-machine"])");

  const int status = shell(ORRERY_SOURCES
                           "/experiments/netcluster --servers 2 --ranks-per-server 1 --rate 1gbit "
                           "-- " ORRERY_MPI " run " +
                           file + " --backend mpi --out " + in("a").string());

  if (status == 1 && read("err").find("netcluster: ") != std::string::npos)
    GTEST_SKIP() << read("err");
  ASSERT_EQ(status, 0) << read("err");
  EXPECT_EQ(json("a/result.json")["machines"], 2);
  expect_not_of_this_machine(json("a/result.json"), "the ranks ran on 2 servers");
}
#endif

/// Two processors of a machine over two seconds, of which this program took 1.5 and all others what
/// is left.
calibrate::WorkReading beside(double others) {
  return {"here", 0.1, 3, 2.0, 1.5, {{0, 1.5}, {1, others}}};
}

/// What is printed of a run of 200 ms beside such others, and of its simulations of 150 ms here and
/// on a DGX-1. `calibrated_beside`: cores that others kept busy when this machine was calibrated.
std::string table_of(double others, double calibrated_beside, bool intervals = false) {
  FinishedRun run{parse_experiments(R"({"name": "f", "model": {"type": "gcn"},
      "dataset": {"generate": "communities", "vertices": 500, "edges": 2000},
      "strategy": {"type": "spmm_1d"}})",
                                    "f.json", {})
                      .front(),
                  {},
                  {}};
  run.measured.epoch_seconds = 0.2;
  run.result["strategy"] = "spmm_1d";
  run.result["other_work"] = other_work_json(calibrate::work_of_others({beside(others)}));
  Json simulated{{"epoch_seconds", 0.15},
                 {"limited_by", {{"sentence", "computation"}}},
                 {"simulation", {{"profile_other_work_cores", calibrated_beside}}}};
  for (const char* cluster : {"this-machine", "dgx-1"}) {
    if (intervals)
      simulated["interval"] = interval_json(0.15, EpochErrors{{"spmm", 0.1}}, cluster[0] == 't');
    run.result["simulated_on"][cluster] = compared(run, cluster, simulated);
  }
  std::FILE* file = std::tmpfile();
  print_forecasts({run}, file);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

TEST(Forecast, MarksTheErrorOfARunBesideOtherWorkAndSaysWhy) {
  const std::string text = table_of(1.0, 0);  // of two seconds: half a core

  EXPECT_NE(text.find("this-machine 200.0 ms 150.0 ms -25 % (*) computation"), std::string::npos)
      << text;
  EXPECT_NE(text.find("(*) this machine was at work while it was measured: other programs kept 0.5 "
                      "of its 2 cores busy; measured times are then too long"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("dgx-1 200.0 ms 150.0 ms - computation"), std::string::npos) << text;
}

TEST(Forecast, MarksTheErrorOfAMachineThatWasCalibratedBesideOtherWork) {
  const std::string text = table_of(0, 1.2);

  EXPECT_NE(text.find("-25 % (*)"), std::string::npos) << text;
  EXPECT_NE(text.find("was at work while it was calibrated: other programs kept 1.2 cores busy"),
            std::string::npos)
      << text;
}

TEST(Forecast, PrintsTheErrorOfAnIdleMachineWithoutAMark) {
  const std::string text = table_of(0.1, 0);

  EXPECT_NE(text.find("150.0 ms -25 % computation"), std::string::npos) << text;
  EXPECT_EQ(text.find("(*)"), std::string::npos) << text;
}

/// What "±" means is told for each cluster, if it is not the same.
TEST(Forecast, PrintsTheIntervalsOfSimulatedEpochs) {
  const std::string text = table_of(0.1, 0, true),
                    epoch = with_interval(0.15, EpochErrors{{"spmm", 0.1}});

  ASSERT_NE(epoch.find("±"), std::string::npos);
  for (const std::string cluster : {"this-machine", "dgx-1"})
    EXPECT_NE(text.find(cluster + " 200.0 ms " + epoch), std::string::npos) << text;
  EXPECT_NE(text.find(interval_words(true) + " (this-machine)"), std::string::npos) << text;
  EXPECT_NE(text.find(interval_words(false) + " (dgx-1)"), std::string::npos) << text;
}

TEST(Forecast, RefusesAnUnknownClusterBeforeAnythingRuns) {
  const Ran ran = run(2, R"(["dgx1"])");

  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.result.is_null());
}

}  // namespace
}  // namespace orrery
