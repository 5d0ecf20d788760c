// Signals, wherever they arrive: what is under way ends soon, in order, and says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

/// Processes whose parent is one of these.
std::set<pid_t> children_of(const std::set<pid_t>& parents) {
  std::set<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "stat");
    std::string number, name, state;
    pid_t parent = -1;
    if (in >> number >> name >> state >> parent && parents.contains(parent) && state != "Z")
      found.insert(static_cast<pid_t>(std::stol(number)));
  }
  return found;
}

/// Whether the process is gone, or is no more than a line of a table.
bool gone(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return !(in >> number >> name >> state) || state == "Z";
}

bool becomes_true(const std::function<bool()>& condition, int seconds = 60) {
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  while (Clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

class Interrupted : public testing::StartedProgram {
 protected:
  /// A simulation of 128 GPUs from counts alone, which takes much longer than the test.
  pid_t start_simulation() const {
    return start(
        {"run", ORRERY_SOURCES "/configs/mg-gcn/papers100m-statistics.json", "--backend", "sim",
         "--set", R"(cluster={"file": "fat-tree", "servers": 16, "gpus_per_server": 8})", "--set",
         "train.epochs=60", "--set", "simulation.epochs=60", "--quiet", "--out", in("a").string()});
  }
  /// Its simulator and the process that replays, once they are there.
  static std::set<pid_t> simulators_of(pid_t program) {
    std::set<pid_t> all;
    becomes_true([&] {
      const auto servers = children_of({program}), replays = children_of(servers);
      all = servers;
      all.insert(replays.begin(), replays.end());
      return !replays.empty();
    });
    return all;
  }
  /// Sends a signal to the process, or its group if negative, and expects that the program ends
  /// within a second and a half (half of one is for a machine at work) and tells so.
  void expect_end(pid_t program, pid_t to, int signal, const std::string& told = "interrupted") {
    const auto begin = Clock::now();
    ::kill(to, signal);
    const int status = wait_for(program);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    EXPECT_EQ(status, 1) << read("err");
    EXPECT_LT(seconds, 1.5);
    EXPECT_NE(read("err").find(told), std::string::npos) << read("err");
    EXPECT_EQ(read("err").find("egmentation"), std::string::npos) << read("err");
  }
};

TEST_F(Interrupted, SimulationEndsWithinASecondAndLeavesNobodyBehind) {
  for (const int signal : {SIGINT, SIGTERM})
    for (const bool whole_group : {true, false}) {
      std::filesystem::remove_all(in("a"));
      const pid_t program = start_simulation();
      const std::set<pid_t> simulators = simulators_of(program);
      ASSERT_GE(simulators.size(), 2U) << "no replay began: " << read("err");

      expect_end(program, whole_group ? -program : program, signal);

      EXPECT_TRUE(
          becomes_true([&] { return std::all_of(simulators.begin(), simulators.end(), gone); }, 5))
          << "signal " << signal << (whole_group ? " to all" : " to the program");
    }
}

/// The time before training or simulation: here a graph is generated for minutes.
TEST_F(Interrupted, PreparationEndsWithinASecond) {
  for (const std::string backend : {"threads", "sim"}) {
    std::filesystem::remove_all(in("a"));
    const pid_t program =
        start({"run", experiment(R"(, "strategy": {"type": "full_graph"})"), "--backend", backend,
               "--set", "dataset.vertices=3000000", "--set", "dataset.edges=60000000", "--set",
               R"(cluster={"file": "dgx-1", "gpus": 2})", "--out", in("a").string()});
    ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(in("a/.lock")); }, 30))
        << read("err");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));

    expect_end(program, -program, SIGINT);
  }
}

/// Commands that have nothing to keep: each is in the middle of something that takes long.
TEST_F(Interrupted, CommandsEndWithOneLineAndLeaveNothing) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"})");
  const std::vector<std::string> large{"--set", "dataset.vertices=3000000", "--set",
                                       "dataset.edges=60000000"};
  const std::string made = in("deep/er").string();
  std::vector<std::vector<std::string>> commands{
      {"plan", file},
      {"partition", file, "--parts", "4", "--out", made},
      {"validate", file, "--out", made, "--set", R"(cluster={"file": "dgx-1", "gpus": 1})"}};
  for (auto& command : commands) command.insert(command.end(), large.begin(), large.end());
  commands.push_back({"dataset", "generate", "rmat", "--vertices", "3000000", "--edges", "60000000",
                      "--out", made});
  commands.push_back({"calibrate", "--busy-ok", "--out", made});
  for (const auto& command : commands) {
    const pid_t program = start(command);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    const auto begin = Clock::now();
    ::kill(program, SIGINT);

    EXPECT_EQ(wait_for(program), 130) << command.front();
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2)) << command.front();
    EXPECT_EQ(read("err"), "orrery: interrupted\n") << command.front();
    EXPECT_FALSE(std::filesystem::exists(in("deep"))) << command.front();
  }
}

/// METIS takes SIGTERM for errors of its own, and would leave its function by a jump.
TEST_F(Interrupted, CutsEndWithSigtermToo) {
  ASSERT_EQ(orrery("dataset generate rmat --vertices 300000 --edges 3000000 --out " +
                   in("large").string()),
            0)
      << read("err");
  for (const double seconds : {0.6, 1.2}) {
    const pid_t program = start({"partition", in("large").string(), "--method", "metis", "--parts",
                                 "64", "--out", in("cut").string()});
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    ::kill(program, SIGTERM);

    EXPECT_EQ(wait_for(program), 130);
    EXPECT_EQ(read("err"), "orrery: interrupted\n");
    EXPECT_FALSE(std::filesystem::exists(in("cut")));
  }
}

/// Processes of PT-Scotch, which are neither children of the program nor in its group.
std::set<pid_t> ptscotch_of(const std::string& folder) {
  std::set<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    const std::string words(std::istreambuf_iterator<char>(in), {});
    if (words.find("orrery-ptscotch") != std::string::npos &&
        words.find(folder) != std::string::npos)
      found.insert(static_cast<pid_t>(std::stol(entry.path().filename())));
  }
  return found;
}

TEST_F(Interrupted, CutsBySeveralProcessesLeaveNoneBehind) {
  ASSERT_EQ(orrery("dataset generate rmat --vertices 300000 --edges 3000000 --out " +
                   in("large").string()),
            0)
      << read("err");
  std::filesystem::create_directory(in("temporary"));
  const std::string folder = in("temporary").string();
  ::setenv("TMPDIR", folder.c_str(), 1);
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const pid_t program = start({"partition", in("large").string(), "--method", "ptscotch",
                                 "--parts", "64", "--out", in("cut").string()});
    // mpirun and its two ranks have the folder in their words.
    const bool began = becomes_true([&] { return ptscotch_of(folder).size() >= 3; }, 30);
    if (!began && read("err").find("install") != std::string::npos) {
      wait_for(program);
      ::unsetenv("TMPDIR");
      GTEST_SKIP() << read("err");
    }
    ::kill(program, signal);

    EXPECT_TRUE(began) << read("err");
    EXPECT_NE(wait_for(program), 0);
    EXPECT_TRUE(becomes_true([&] { return ptscotch_of(folder).empty(); }, 10)) << signal;
    if (signal != SIGKILL) {  // Open MPI keeps a folder of its own there
      for (const auto& entry : std::filesystem::directory_iterator(folder))
        EXPECT_NE(entry.path().filename().string().rfind("orrery-", 0), 0U) << entry.path();
    }
    EXPECT_FALSE(std::filesystem::exists(in("cut"))) << signal;
  }
  ::unsetenv("TMPDIR");
}

TEST_F(Interrupted, TrainingStopsAfterItsEpochAndSaysSoAboveItsTable) {
  const pid_t program =
      start({"run", experiment(R"(, "strategy": {"type": "spmm_1d"}, "cluster": {"ranks": 2})"),
             "--set", "train.epochs=1000000", "--out", in("a").string()});
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(in("a/epochs.jsonl")); }));

  expect_end(program, -program, SIGINT, "stopping after this epoch; once more to stop now");

  const auto result = json("a/result.json");
  EXPECT_TRUE(result["interrupted"].get<bool>());
  const std::string out = read("out"),
                    told = fmt::format("INTERRUPTED: spmm_1d after {} of 1000000 epochs",
                                       result["epochs"].get<int>());
  EXPECT_LT(out.find(told), out.find("moved/epoch")) << out;
  EXPECT_NE(out.find("spmm_1d (interrupted)"), std::string::npos) << out;
}

TEST_F(Interrupted, SweepSaysWhatWasNotRun) {
  const pid_t program = start(
      {"run", experiment(R"(, "strategy": {"type": "full_graph"}, "sweep": {"seed": [1, 2, 3]})"),
       "--set", "train.epochs=1000000", "--out", in("a").string()});
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(in("a/seed=1/epochs.jsonl")); }));

  expect_end(program, program, SIGUSR1, "stopping after this epoch");

  EXPECT_EQ(json("a/sweep.json")["missing"], 2);
  const std::string out = read("out");
  EXPECT_LT(out.find("INTERRUPTED: 2 of 3 combinations were not run"), out.find("moved/epoch"))
      << out;
}

TEST_F(Interrupted, SecondSignalEndsTheProgramAtOnce) {
  const pid_t program = start_simulation();
  ASSERT_GE(simulators_of(program).size(), 2U);

  ::kill(program, SIGINT);
  ::kill(program, SIGTERM);

  EXPECT_EQ(wait_for(program), 130);
}

}  // namespace
}  // namespace orrery
