// Job scripts.
#include "experiments/run/job_script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.hpp"
#include "experiments/config/version.hpp"

namespace orrery {
namespace {

Experiment experiment(const std::vector<std::string>& overrides) {
  return parse_experiments(R"({"name": "my run", "dataset": {"generate": "rmat"},
                               "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}})",
                           "test", overrides)
      .front();
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(SlurmScript, AsksForTheServersAndRanksOfTheExperiment) {
  const std::string text = slurm_script(
      experiment({"cluster.servers=3", "cluster.ranks_per_server=4", "train.checkpoint_every=5"}),
      {"dir/f.json", {"seed=3", "name=it's", "backend=mpi"}, "", false});

  EXPECT_TRUE(has(text, "#SBATCH --nodes=3\n#SBATCH --ntasks-per-node=4\n"));
  EXPECT_TRUE(has(text, "srun --mpi=pmix '/"));
  EXPECT_TRUE(
      has(text,
          "/orrery' run 'dir/f.json' --backend mpi --out 'results/my_run' --resume --set 'seed=3' "
          "--set 'name=it'\\''s'\n"))
      << text;
  EXPECT_TRUE(has(text, "last checkpoint (every 5 epochs)"));
}

/// mpirun by itself waits for a machine that is lost.
TEST(MpirunLine, LetsAJobOnSeveralServersEndWhenOneIsLost) {
  if (std::string(kMpiVersion).rfind("Open MPI", 0) != 0)
    GTEST_SKIP() << "flags are those of Open MPI";
  const auto line = [](const char* servers) {
    return mpirun_line(
        experiment({std::string("cluster.servers=") + servers, "cluster.ranks_per_server=1"}),
        {"f.json", {}, "", false});
  };

  EXPECT_TRUE(has(line("2"),
                  " --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 "
                  "--mca oob_tcp_keepalive_probes 3 -n 2 "))
      << line("2");
  EXPECT_FALSE(has(line("1"), "keepalive"));
}

TEST(SlurmScript, LeavesThePlacementToSlurmWhereTheFileDoes) {
  const std::string text =
      slurm_script(experiment({"cluster.ranks=6"}), {"f.json", {}, "my out", false});

  EXPECT_TRUE(has(text, "#SBATCH --ntasks=6\n"));
  EXPECT_TRUE(has(text, "--out 'my out' --resume"));
  EXPECT_FALSE(has(text, "--nodes"));
  EXPECT_TRUE(has(text, "set train.checkpoint_every"));
}

TEST(SlurmScript, AsksForGpusWhereTheKernelsNeedThem) {
  const std::string placed =
      slurm_script(experiment({"kernels=cuda", "backend=nccl", "cluster.servers=2",
                               "cluster.ranks_per_server=4"}),
                   {"f.json", {}, "", false});
  const std::string anywhere =
      slurm_script(experiment({"kernels=cuda", "cluster.ranks=6"}), {"f.json", {}, "", false});

  EXPECT_TRUE(has(placed, "#SBATCH --gpus-per-node=4\n"));
  EXPECT_TRUE(has(placed, "run 'f.json' --backend nccl "));
  EXPECT_TRUE(has(anywhere, "#SBATCH --gpus-per-task=1\n"));
  EXPECT_TRUE(has(anywhere, "run 'f.json' --backend mpi "));
}

TEST(SlurmScript, OfASweepDoesNotResume) {
  const std::string text =
      slurm_script(experiment({R"(sweep={"seed": [1, 2]})"}), {"f.json", {}, "", false});

  EXPECT_FALSE(has(text, "--resume"));
  EXPECT_TRUE(has(text, " --force"));
}

TEST(SlurmScript, IsAScriptThatTheShellUnderstands) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "job.sh";
  std::ofstream(file) << slurm_script(experiment({"cluster.ranks=2", "name=a'b"}),
                                      {"a 'b'.json", {"name=$x"}, "", false});

  EXPECT_EQ(std::system(("bash -n '" + file.string() + "'").c_str()), 0);
}

/// Every word that a name, a path or a setting may hold, run by a shell in which srun and cd only
/// print their arguments.
TEST(SlurmScript, GivesNamesToNoShell) {
  const std::string evil = "a'b\"c $(touch ran) `touch ran` ; touch ran & | > ran # \\\n touch ran";
  const auto folder = std::filesystem::path(::testing::TempDir()) / "evil names";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::string one_line = evil;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  std::ofstream(folder / "job.sh")
      << "srun() { printf '%s\\0' \"$@\" >> said; }\ncd() { :; }\n"
      << slurm_script(experiment({"cluster.ranks=2", "name=" + one_line}),
                      {evil, {"name=" + evil}, evil, false});

  const int status =
      std::system(("cd '" + folder.string() + "' && bash job.sh > /dev/null 2>&1").c_str());

  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
  std::ifstream in(folder / "said", std::ios::binary);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& word : {evil, "name=" + evil})
    EXPECT_NE(said.find(std::string(1, '\0') + word + std::string(1, '\0')), std::string::npos);
}

TEST(Experiment, MayNotHoldWhatSteersATerminal) {
  for (const char* assignment : {R"(name="a\necho x")", R"(name="\u001b[31mred")", "name=\x1b[31m",
                                 R"(dataset={"path": "a\tb"})", R"(sweep={"a\n": [1]})"})
    EXPECT_THROW(experiment({assignment}), ConfigError) << assignment;
}

}  // namespace
}  // namespace orrery
