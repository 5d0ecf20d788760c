#include "experiments/job_script.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "experiments/results.hpp"
#include "experiments/version.hpp"

namespace orrery {
namespace {

/// In single quotes, for a shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string slurm_script(const Experiment& experiment, const std::string& file,
                         const std::vector<std::string>& overrides) {
  const std::string name = as_file_name(experiment.name);
  std::string settings;
  for (const std::string& assignment : overrides)
    if (assignment.rfind("backend=", 0) != 0) settings += " --set " + quoted(assignment);
  const bool placed = experiment.resolved["cluster"].contains("servers");
  const std::string tasks = placed
                                ? fmt::format("#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n",
                                              experiment.servers, experiment.ranks_per_server)
                                : fmt::format("#SBATCH --ntasks={}\n", experiment.ranks());
  const bool sweep = !experiment.label.empty();
  const std::string again =
      sweep ? "# A sweep starts anew when it is queued again.\n"
      : experiment.checkpoint_every == 0
          ? "# Queued again, it starts anew: set train.checkpoint_every to go on where it was.\n"
          : fmt::format("# Queued again, it goes on from its last checkpoint (every {} epochs).\n",
                        experiment.checkpoint_every);
  return fmt::format(
      "#!/bin/bash\n"
      "# {} ranks of {}. Submit with: sbatch THIS_FILE\n"
      "#SBATCH --job-name={}\n"
      "{}"
      "#SBATCH --cpus-per-task=4        # threads of each rank's kernels; one more serves its "
      "messages\n"
      "#SBATCH --time=01:00:00\n"
      "#SBATCH --output={}-%j.log\n"
      "#SBATCH --signal=USR1@120        # two minutes before the end: stop after the epoch\n"
      "#SBATCH --requeue\n"
      "\n"
      "cd {}\n"
      "{}"
      "srun --mpi=pmix ./orrery run {} --backend mpi --out {}{}{}\n",
      experiment.ranks(), experiment.name, name, tasks, name, quoted(kSourceRoot), again,
      quoted(std::filesystem::absolute(file).string()), quoted("results/" + name),
      sweep ? " --force" : " --resume", settings);
}

}  // namespace orrery
