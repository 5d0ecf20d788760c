// Experiments on real ranks: jobs of mpirun against one process.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/experiments/execute/mpi_job.hpp"

namespace orrery {
namespace {

#ifdef ORRERY_MPIRUN

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

using testing::kOnGpus;
using testing::MpiJob;
using testing::mpirun;

TEST_F(MpiJob, OfNcclNeedsAGpuForEachRank) {
  const int status = shell(kOnGpus + mpirun(2) + ORRERY_MPI + " run " + experiment(2) +
                           " --backend nccl --set kernels=cuda --out " + (folder_ / "a").string());

  EXPECT_EQ(status, 2);
  EXPECT_NE(read("err").find("backend: nccl needs a GPU for each rank, but ranks 0 and 1 have the "
                             "same one: use backend mpi or threads"),
            std::string::npos)
      << read("err");
}

TEST_F(MpiJob, RunsAnExperimentWithRankZeroAloneSpeaking) {
  const std::string file = experiment(6);
  const std::string arguments = fmt::format(" run '{}' --json --quiet --out ", file);
  ASSERT_EQ(shell(mpirun(3) + ORRERY_MPI + arguments + (folder_ / "a").string()), 0) << read("err");
  const Json job = printed();
  ASSERT_EQ(shell(std::string(ORRERY_BINARY) + arguments + (folder_ / "b").string() +
                  " --backend threads --set cluster.ranks=3"),
            0)
      << read("err");
  const Json threads = printed();

  EXPECT_EQ(job["ranks"], 3) << "as many as were started";
  EXPECT_EQ(job["backend"], "mpi");
  EXPECT_EQ(job["loss"], threads["loss"]) << "sums are in rank order everywhere";
  EXPECT_EQ(job["bytes"], threads["bytes"]);
  EXPECT_EQ(job["received_bytes"], threads["received_bytes"]);
  EXPECT_EQ(job["peak_bytes"], threads["peak_bytes"]);
  EXPECT_EQ(job["breakdown"].size(), 8U);
  for (const char* part : {"partition_seconds", "structure_seconds", "device_seconds"})
    EXPECT_GT(job["set_up"][part], 0.0) << part;
  EXPECT_NE(read("a/timeline.json").find("rank 2"), std::string::npos);
}

/// Every rank reports the processors that it saw; rank 0 prints those that remain for others.
TEST_F(MpiJob, SaysWhatOtherProgramsDidMeanwhile) {
  if (!fs::exists("/proc/stat")) GTEST_SKIP() << "this system does not tell";
  const pid_t other = ::fork();
  if (other == 0) {  // computes for as long as the test could last
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + std::chrono::seconds(60); Clock::now() < end;) continue;
    ::_exit(0);
  }
  const int status =
      shell(mpirun(2) + ORRERY_MPI + " run " + experiment(60) +
            " --set dataset.vertices=40000 --set dataset.edges=400000 --quiet --out " +
            (folder_ / "a").string());
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);

  ASSERT_EQ(status, 0) << read("err");
  const Json seen = Json::parse(read("a/result.json"))["other_work"];
  ASSERT_TRUE(seen["cores"].is_number()) << seen;
  EXPECT_GT(seen["cores"].get<double>(), 0.25);
  EXPECT_NE(seen["note"].get<std::string>().find("at work while it was measured"),
            std::string::npos);
}

TEST_F(MpiJob, OfAnotherSizeThanTheFileSaysIsAnErrorNamingBoth) {
  const std::string file = experiment(6, R"(, "cluster": {"servers": 2, "ranks_per_server": 2})");

  const int status = shell(mpirun(3) + ORRERY_MPI + " run " + file);

  EXPECT_EQ(status, 2);
  EXPECT_NE(read("err").find("cluster: 4 ranks in the experiment, but 3 processes were started"),
            std::string::npos)
      << read("err");
}

TEST_F(MpiJob, OfThreadsIsRefused) {
  EXPECT_EQ(shell(mpirun(2) + ORRERY_MPI + " run " + experiment(2) + " --backend threads"), 2);
  EXPECT_NE(read("err").find("backend: 2 processes were started"), std::string::npos);
}

TEST_F(MpiJob, CommandsThatNeedOneProcessAreDoneByTheFirst) {
  ASSERT_EQ(shell(mpirun(3) + ORRERY_MPI + " plan " + experiment(2) + " --json"), 0) << read("err");
  EXPECT_EQ(printed()["name"], "job") << "one object, not three";
}

/// The ranks of the job measure; one process simulates, and says what would measure.
TEST_F(MpiJob, StarveMeasuresItsRanksOrSimulatesThem) {
  const std::string sampled =
      " --set 'strategy={\"type\": \"mini_batch\", \"batch\": 100, \"fanouts\": [5, 5]}'";
  ASSERT_EQ(shell(mpirun(2) + ORRERY_MPI + " starve " + experiment(2) + sampled +
                  " --set cluster.ranks=2 --epochs 2 --now --json"),
            0)
      << read("err");
  const auto measured = printed();
  EXPECT_TRUE(measured["measured"]);
  EXPECT_EQ(measured["ranks"], 2);
  EXPECT_GT(measured["now"]["stages"]["sample"]["busy_seconds"], 0);
  EXPECT_TRUE(measured["not_measured"].is_null());

  ASSERT_EQ(
      shell(std::string(ORRERY_BINARY) + " starve " + experiment(2) + sampled +
            " --set 'cluster={\"file\": \"a6000-1x2-nvlink\", \"gpus\": 2}' --epochs 2 --json"),
      0)
      << read("err");
  const auto simulated = printed();
  EXPECT_FALSE(simulated["measured"]);
  EXPECT_EQ(simulated["capacities"].size(), 7U);
  const auto line = simulated["not_measured"].get<std::string>();
  EXPECT_EQ(line.find("mpirun "), 0U) << line;
  EXPECT_NE(line.find(" -n 2 "), std::string::npos) << line;
  EXPECT_NE(line.find(" starve "), std::string::npos) << line;

  EXPECT_EQ(shell(mpirun(2) + ORRERY_MPI + " starve " + experiment(2) + sampled +
                  " --set cluster.ranks=3 --now"),
            2);
  EXPECT_NE(read("err").find("3 ranks in the experiment, but 2 processes"), std::string::npos);
}

// Open MPI starts nothing as root, nor more ranks than cores, without being told to.
TEST_F(MpiJob, WithoutMpirunSaysWhichLineStartsItHere) {
  EXPECT_EQ(shell(std::string(ORRERY_BINARY) + " run " + experiment(2) +
                  " --set cluster.ranks=4 --set 'name=a b' --out " + (folder_ / "a").string()),
            2);
  const std::string told = read("err"), begin = "start them with: ", program = "/orrery run ";
  ASSERT_NE(told.find(begin), std::string::npos) << told;
  std::string line = told.substr(told.find(begin) + begin.size());
  line = line.substr(0, line.find('\n'));

  // The launcher starts the program in `build`; here it is this build.
  const auto end = line.find(program) + program.find(" run");
  const auto path = line.rfind(' ', end - 1) + 1;
  line.replace(path, end - path, ORRERY_MPI);

  EXPECT_EQ(shell(line), 0) << line << "\n" << read("err");
  std::ifstream result(folder_ / "a" / "result.json");
  const auto run = nlohmann::ordered_json::parse(result);
  EXPECT_EQ(run["ranks"], 4);
  EXPECT_EQ(run["name"], "a b");
}

TEST_F(MpiJob, ServersOfTheFileWinOverThoseOfTheMachine) {
  const std::string file = experiment(2, R"(, "cluster": {"servers": 2, "ranks_per_server": 2})");

  ASSERT_EQ(shell(mpirun(4) + ORRERY_MPI + " run " + file + " --json --quiet --out " +
                  (folder_ / "a").string()),
            0)
      << read("err");

  EXPECT_EQ(printed()["server_of_rank"], (std::vector<int>{0, 0, 1, 1}));
  EXPECT_GT(printed()["bytes"]["external"], 0);
  const auto breakdown = printed()["breakdown"];
  EXPECT_GT(breakdown["internal"], 0) << "messages to the other rank of its server";
  EXPECT_GT(breakdown["external"], 0);
  double parts = 0;
  for (const auto& [part, seconds] : breakdown.items())
    if (part != "hidden") parts += seconds.get<double>();
  EXPECT_NEAR(parts, printed()["epoch_seconds"].get<double>(),
              1e-6 * printed()["epoch_seconds"].get<double>());
}

/// Kills the rank that was started last of the job that runs this experiment file; its process, or
/// 0 where there is none.
pid_t kill_newest_rank(const std::string& file) {
  pid_t newest = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = static_cast<pid_t>(std::atol(entry.path().filename().c_str()));
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    std::string program;
    std::getline(in, program, '\0');
    std::ostringstream arguments;  // stays empty when the process ends meanwhile
    arguments << in.rdbuf();
    if (program == ORRERY_MPI && arguments.str().find(file) != std::string::npos)
      newest = std::max(newest, pid);
  }
  return newest > 0 && ::kill(newest, SIGKILL) == 0 ? newest : 0;
}

/// SIGKILL for one rank in the middle: one line names an operation and the rank; then the job
/// resumes to the loss of an undisturbed one.
TEST_F(MpiJob, WithAKilledRankEndsSoonAndResumes) {
  const std::string file = experiment(400);
  const std::string run =
      mpirun(3) + ORRERY_MPI + " run " + file + " --json --quiet --out " + (folder_ / "a").string();

  auto job = std::async(std::launch::async, [&] { return shell(run); });
  for (int i = 0; i < 100 && !fs::exists(folder_ / "a" / "checkpoint.bin"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_GT(kill_newest_rank(file), 0) << read("err");
  const auto begin = std::chrono::steady_clock::now();
  const int status = job.get();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  EXPECT_NE(status, 0);
  EXPECT_LT(seconds, 20);
  EXPECT_NE(read("err").find("waits for rank"), std::string::npos) << read("err");
  const Json failure = Json::parse(read("a/failure.json"));
  // mpirun's own words: "mpirun noticed that process rank 2 with PID ... exited on signal 9".
  EXPECT_NE(read("err").find(fmt::format("process rank {} with", failure["rank"].get<int>())),
            std::string::npos)
      << failure << read("err");
  EXPECT_NE(failure["told_by"], failure["rank"]);
  EXPECT_FALSE(failure["operation"].get<std::string>().empty()) << failure;
  EXPECT_FALSE(failure["waited_for"].empty()) << failure;
  ASSERT_EQ(shell(run + " --resume"), 0) << read("err");
  const Json resumed = printed();
  ASSERT_EQ(
      shell(std::string(ORRERY_BINARY) + " run " + file + " --backend threads --json --quiet " +
            "--set cluster.ranks=3 --set train.epochs=" +
            std::to_string(resumed["epochs"].get<int>()) + " --out " + (folder_ / "b").string()),
      0)
      << read("err");
  EXPECT_EQ(resumed["loss"], printed()["loss"]);
}

/// mpirun asks all ranks to end, and kills them a second later. Whether an epoch ends before that or not,
/// the folder tells one story: a result that is interrupted, or a failure.
TEST_F(MpiJob, WhoseMpirunIsInterruptedLeavesAResultOrAFailure) {
  const std::string file = experiment(1000000);
  const std::string run = "echo $$ >" + (folder_ / "pid").string() + "; exec env " + mpirun(2) +
                          ORRERY_MPI + " run " + file + " --quiet --out " +
                          (folder_ / "a").string();
  auto job = std::async(std::launch::async, [&] { return shell(fmt::format("sh -c '{}'", run)); });
  for (int i = 0; i < 200 && !fs::exists(folder_ / "a" / "checkpoint.bin"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_TRUE(fs::exists(folder_ / "a" / "checkpoint.bin")) << read("err");

  ::kill(std::stoi(read("pid")), SIGINT);
  job.get();

  const bool failed = fs::exists(folder_ / "a/failure.json"),
             done = fs::exists(folder_ / "a/result.json");
  EXPECT_NE(failed, done) << read("err");
  EXPECT_EQ(read("err").find("orrery: error:") != std::string::npos, failed) << read("err");
  EXPECT_TRUE(!done || Json::parse(read("a/result.json"))["interrupted"] == true);
}

/// The second rank never starts MPI, but kills mpirun while the first waits for it there.
/// The library itself ends a rank whose mpirun is gone, without a word: in one start of ten before
/// the rank can have seen it. So one of a few starts has to leave word.
TEST_F(MpiJob, WhoseMpirunDiesWhileRanksStartLeavesWordOfIt) {
  const std::string file = experiment(5);
  const fs::path word = folder_ / "a" / "failure.json";

  for (int start = 0; start < 5 && !fs::exists(word); ++start) {
    EXPECT_NE(shell(mpirun(1) + ORRERY_MPI + " run " + file + " --quiet --out " +
                    (folder_ / "a").string() + " : -n 1 sh -c 'sleep 4; kill -9 $PPID'"),
              0);
    for (int i = 0; i < 50 && !fs::exists(word); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_TRUE(fs::exists(word));
  const Json failure = Json::parse(read("a/failure.json"));
  EXPECT_EQ(failure["operation"], "MPI_Init");
  EXPECT_EQ(failure["rank"], nullptr);
  EXPECT_EQ(failure["message"],
            "mpirun, which started this job, has died while the ranks were starting MPI");
}

/// As a stale copy of the file, or of the data, on one machine.
TEST_F(MpiJob, WhoseProcessesDoNotMeanTheSameIsRefused) {
  const std::string file = experiment(5), out = (folder_ / "a").string();
  const auto where_rank_1_has = [&](const std::string& command, const std::string& more) {
    const int status =
        shell(fmt::format("{} sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then set -- \"$@\" {}; "
                          "fi; exec \"$@\"' sh {} {} {} --out {}",
                          mpirun(3), more, ORRERY_MPI, command, file, out));
    const std::string text = read("err");
    const auto first = text.find("orrery: error: rank 0: ");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("orrery: error:", first + 1), std::string::npos) << text;
    EXPECT_FALSE(fs::exists(folder_ / "a/result.json"));
    fs::remove_all(folder_ / "a");
    return fmt::format("{} {}", status,
                       text.substr(first + 23, text.find('\n', first) - first - 23));
  };
  const std::string advice = "all processes need the same experiment file and options";
  EXPECT_EQ(where_rank_1_has("run", "--set train.learning_rate=0.5"),
            "2 train.learning_rate: 0.5 on rank 1, 0.01 on rank 0: " + advice);
  EXPECT_EQ(where_rank_1_has("run", "--set train.epochs=6"),
            "2 train.epochs: 6 on rank 1, 5 on rank 0: " + advice);
  EXPECT_EQ(where_rank_1_has("infer", "--set inference.fanout=4"),
            "2 inference.fanout: 4 on rank 1, absent on rank 0: " + advice);
  EXPECT_EQ(where_rank_1_has("sweep", "--set sweep.seed=[1,2,3]"),
            "2 sweep: 3 combinations on rank 1, 1 on rank 0: " + advice);
}

TEST_F(MpiJob, WhoseRankHasOtherDataIsRefused) {
  for (const char* which : {"same", "other"})
    ASSERT_EQ(shell(fmt::format(
                  "{} dataset generate communities --vertices 300 --edges 2000 --seed {} --out {}",
                  ORRERY_BINARY, which == std::string("same") ? 1 : 2,
                  (folder_ / which / "set").string())),
              0)
        << read("err");
  const std::string file = experiment(3);
  const auto with = [&](const char* on_rank_1) {
    fs::remove_all(folder_ / "a");
    return shell(
        fmt::format("{} sh -c 'd={}; if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then d={}; fi; export "
                    "ORRERY_DATA=$d; exec \"$@\"' sh "
                    "{} run {} --set dataset={{\\\"path\\\":\\\"set\\\"}} --out {}",
                    mpirun(2), (folder_ / "same").string(), (folder_ / on_rank_1).string(),
                    ORRERY_MPI, file, (folder_ / "a").string()));
  };
  EXPECT_EQ(with("same"), 0) << read("err");
  EXPECT_EQ(with("other"), 1);
  EXPECT_NE(read("err").find("rank 0: the data set of rank 1 is not that of rank 0 (fingerprint "),
            std::string::npos)
      << read("err");
}

/// An inference reads ranges of the edges, so it compares how many there are.
TEST_F(MpiJob, WhoseRankHasAnotherGraphIsRefusedBeforeItIsUsed) {
  for (const int vertices : {300, 500})
    ASSERT_EQ(shell(fmt::format(
                  "{} dataset generate communities --vertices {} --edges 2000 --out {}",
                  ORRERY_BINARY, vertices, (folder_ / std::to_string(vertices) / "set").string())),
              0)
        << read("err");
  const std::string file = experiment(3);
  for (const char* more :
       {"run --set strategy.type=mini_batch --set strategy.fanouts=[2,2]", "infer"}) {
    fs::remove_all(folder_ / "a");
    const int status = shell(
        fmt::format("{} sh -c 'd={}; if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then d={}; fi; export "
                    "ORRERY_DATA=$d; "
                    "exec \"$@\"' sh {} {} {} --set dataset={{\\\"path\\\":\\\"set\\\"}} --out {}",
                    mpirun(2), (folder_ / "300").string(), (folder_ / "500").string(), ORRERY_MPI,
                    more, file, (folder_ / "a").string()));
    EXPECT_EQ(status, 1) << more;
    EXPECT_NE(read("err").find("rank 0: the data set of rank 1 is not that of rank 0 ("),
              std::string::npos)
        << more << read("err");
  }
}

/// Each process is alone in its own world.
TEST_F(MpiJob, StartedByAnotherLibrarySaysSo) {
  const int status =
      shell(fmt::format("PMI_RANK=0 PMI_SIZE=2 {} run {} --set cluster.ranks=2 --out {}",
                        ORRERY_MPI, experiment(3), (folder_ / "a").string()));

  EXPECT_EQ(status, 1);
  EXPECT_NE(read("err").find(
                "2 processes were started, but MPI sees 1: what started them belongs to another"),
            std::string::npos)
      << read("err");
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

/// Only one rank has too little memory: one message, naming the rank and the tensor.
TEST_F(MpiJob, WithARankThatFailsSaysSoOnce) {
  const std::string file = experiment(5);

  const int status = shell(mpirun(3) + ORRERY_MPI + " run " + file +
                           " --set cluster.device_bytes=400000 --out " + (folder_ / "a").string());

  EXPECT_NE(status, 0);
  const std::string text = read("err");
  const auto first = text.find("orrery: error:");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("orrery: error:", first + 1), std::string::npos) << text;
  EXPECT_NE(text.find("rank ", first), std::string::npos) << text;
}

#else

TEST(MpiJob, RunsExperimentsOnRealRanks) { GTEST_SKIP() << "MPI is not in this build"; }

#endif

}  // namespace
}  // namespace orrery
