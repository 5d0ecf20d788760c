// Job scripts.
#include "experiments/run/job_script.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  std::ofstream(file) << slurm_script(experiment({"cluster.ranks=2", R"(name="a\necho INJECTED")"}),
                                      {"a 'b'.json", {"name=$x"}, "", false});

  EXPECT_EQ(std::system(("bash -n '" + file.string() + "'").c_str()), 0);
}

}  // namespace
}  // namespace orrery
