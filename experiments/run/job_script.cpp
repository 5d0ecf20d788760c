#include "experiments/run/job_script.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "experiments/config/installed.hpp"
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

/// Cores without hyper-threads, as Open MPI counts slots; the number that this process may use if
/// the system does not tell.
int physical_cores() {
  std::set<std::string> cores;
  for (int cpu = 0;; ++cpu) {
    std::ifstream siblings(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string list;
    if (!std::getline(siblings, list)) break;
    cores.insert(list);
  }
  const int there = static_cast<int>(cores.size());
  return there == 0 ? available_cores() : std::min(there, available_cores());
}

/// A word as one would type it: in quotes if the shell would split it.
std::string typed(const std::string& word) {
  const bool plain = word.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "-_./=,:+") == std::string::npos;
  return plain && !word.empty() ? word : quoted(word);
}

/// The settings as --set options, without those that the start itself gives.
std::string settings_of(const JobRequest& request, std::string (*word)(const std::string&)) {
  std::string settings;
  for (const std::string& assignment : request.overrides)
    if (assignment.rfind("backend=", 0) != 0) settings += " --set " + word(assignment);
  return settings;
}

}  // namespace

std::string mpirun_line(const Experiment& experiment, const JobRequest& request) {
  const int ranks = experiment.ranks();
  std::string options;
  if (std::string(kMpiVersion).rfind("Open MPI", 0) == 0) {
    const bool crowded = ranks > physical_cores();
    if (::geteuid() == 0) options += " --allow-run-as-root";
    if (crowded || ranks > 2) options += " --bind-to none";
    if (crowded) options += " --oversubscribe --mca mpi_yield_when_idle 1";
    // A machine that is lost ends the job. By default mpirun would wait for it for hours.
    if (experiment.placement().servers() > 1)
      options +=
          " --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 "
          "--mca oob_tcp_keepalive_probes 3";
  }
  std::string more = settings_of(request, typed);
  if (!request.out.empty()) more += " --out " + typed(request.out);
  for (const auto& [given, flag] :
       {std::pair(request.force, " --force"), std::pair(request.resume, " --resume"),
        std::pair(request.anyway, " --anyway")})
    if (given) more += flag;
  return fmt::format("mpirun{} -n {} {} {} {} --backend {}{}", options, ranks,
                     typed(launcher().string()), request.command, typed(request.file),
                     experiment.backend, more);
}

std::string slurm_script(const Experiment& experiment, const JobRequest& request) {
  const std::string name = as_file_name(experiment.name);
  if (request.file == "-")
    throw ConfigError("FILE", "standard input is gone when the job starts: name a file");
  const std::string settings = settings_of(request, quoted);
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
      anew ? "# Queued again, it starts over.\n"
      : experiment.checkpoint_every == 0 && experiment.checkpoint_steps == 0
          ? "# Queued again, it starts over; set train.checkpoint_every to continue instead.\n"
          : fmt::format("# Queued again, it continues from its last checkpoint (every {}).\n",
                        experiment.checkpoint_steps > 0
                            ? fmt::format("{} steps", experiment.checkpoint_steps)
                            : fmt::format("{} epochs", experiment.checkpoint_every));
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
      quoted(std::filesystem::current_path().string()), again, quoted(launcher().string()),
      quoted(request.file), experiment.backend == "nccl" ? "nccl" : "mpi",
      quoted(request.out.empty() ? "results/" + name : request.out),
      anew ? " --force" : " --resume", request.anyway ? " --anyway" : "", settings);
}

}  // namespace orrery
