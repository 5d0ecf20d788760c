#include "experiments/run/job_script.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "experiments/config/version.hpp"
#include "experiments/results/results.hpp"

namespace orrery {
namespace {

/// In single quotes, for a shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string slurm_script(const Experiment& experiment, const JobRequest& request) {
  const std::string name = as_file_name(experiment.name);
  std::string settings;
  for (const std::string& assignment : request.overrides)
    if (assignment.rfind("backend=", 0) != 0) settings += " --set " + quoted(assignment);
  const int servers = experiment.placement().servers(), ranks = experiment.ranks();
  const bool placed = experiment.places_ranks() &&
                      experiment.placement() == Placement::uniform(servers, ranks / servers);
  const std::string tasks = placed
                                ? fmt::format("#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n",
                                              servers, ranks / servers)
                                : fmt::format("#SBATCH --ntasks={}\n", ranks);
  const std::string gpus = experiment.kernels != "cuda" ? ""
                           : placed ? fmt::format("#SBATCH --gpus-per-node={}\n", ranks / servers)
                                    : "#SBATCH --gpus-per-task=1\n";
  const bool anew = request.force || !experiment.label.empty();
  const std::string again =
      anew ? "# Queued again, it starts anew.\n"
      : experiment.checkpoint_every == 0
          ? "# Queued again, it starts anew: set train.checkpoint_every to go on where it was.\n"
          : fmt::format("# Queued again, it goes on from its last checkpoint (every {} epochs).\n",
                        experiment.checkpoint_every);
  return fmt::format(
      "#!/bin/bash\n"
      "# {} ranks of {}. Submit with: sbatch THIS_FILE\n"
      "#SBATCH --job-name={}\n"
      "{}{}"
      "#SBATCH --cpus-per-task=4        # threads of each rank's kernels; one more serves its "
      "messages\n"
      "#SBATCH --time=01:00:00\n"
      "#SBATCH --output={}-%j.log\n"
      "#SBATCH --signal=USR1@120        # two minutes before the end: stop after the epoch\n"
      "#SBATCH --requeue\n"
      "\n"
      "cd {}\n"
      "{}"
      "srun --mpi=pmix {} run {} --backend {} --out {}{}{}{}\n",
      experiment.ranks(), name, name, tasks, gpus, name,
      quoted(std::filesystem::current_path().string()), again,
      quoted(fmt::format("{}/orrery", kSourceRoot)), quoted(request.file),
      experiment.backend == "nccl" ? "nccl" : "mpi",
      quoted(request.out.empty() ? "results/" + name : request.out),
      anew ? " --force" : " --resume", request.anyway ? " --anyway" : "", settings);
}

}  // namespace orrery
