#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "core/base/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/run/run_session.hpp"

namespace orrery {

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "train the experiment for real, every combination of its sweep");
  command->add_option("FILE", options->file, "experiment file")->required();
  command->add_option("--set", options->overrides, "override a key: key.path=value")
      ->allow_extra_args(false);
  command->add_option("--backend", options->backend,
                      "how ranks run: threads; mpi or nccl under mpirun or srun; sim; model");
  command->add_option("--out", options->out, "result folder (default: results/<name>-<time>)");
  auto* force = command->add_flag("--force", options->force, "overwrite results in --out");
  command
      ->add_flag("--resume", options->resume,
                 "go on from the checkpoint in --out, if there is one (train.checkpoint_every)")
      ->excludes(force);
  command->add_option("--print-job", options->print_job,
                      "print a job script that runs it on a cluster: slurm");
  command->add_flag("--anyway", options->anyway,
                    "run also what this machine's memory is too small for");
  command->add_option("--timeline-epochs", options->timeline_epochs,
                      "epochs that timeline.json shows: how many (5), or which, from 0 (10-12); "
                      "default: 3, without the first");
  command->add_flag("--json", options->json, "one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "no progress, no notes");
  command->footer(
      "Examples: orrery run configs/quickstart.json --set cluster.ranks=2 --set train.epochs=20\n"
      "          mpirun -n 4 ./orrery run configs/quickstart.json --set cluster.ranks=4 --backend "
      "mpi");
  command->callback([options, &exit_code] { exit_code = run_session(*options); });
}

}  // namespace orrery
