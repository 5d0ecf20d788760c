#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "core/base/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/commands/python_script.hpp"
#include "experiments/run/run_session.hpp"

namespace orrery {

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  auto tensorboard = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "run", "Train an experiment, or simulate it: every combination of its sweep");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option(
          "--backend", options->backend,
          "Say how ranks run, as the key backend does: as threads; as processes (mpi, nccl) "
          "under mpirun or srun; simulated (sim); by the papers' equations (model)")
      ->type_name("threads|mpi|nccl|sim|model");
  command->add_option("--out", options->out, "Write into this folder (default: results/NAME-TIME)")
      ->type_name("DIR");
  auto* force = command->add_flag("--force", options->force, "Replace the results in --out");
  command
      ->add_flag("--resume", options->resume,
                 "Continue from the checkpoint in --out, if there is one (train.checkpoint_every)")
      ->excludes(force);
  command
      ->add_option("--print-job", options->print_job,
                   "Print a script for a batch system instead of running")
      ->type_name("slurm");
  command->add_flag("--anyway", options->anyway, "Run even if this machine's memory is too small");
  command
      ->add_option("--timeline-epochs", options->timeline_epochs,
                   "Show these epochs in timeline.json: how many (5), or which, from 0 (10-12); "
                   "default: 3, without the first")
      ->type_name("N|FROM-TO");
  command->add_flag("--csv", options->log.csv,
                    "Write the epochs as a table too: epochs.csv beside epochs.jsonl");
  command->add_flag("--tensorboard", *tensorboard,
                    "Write event files for TensorBoard too: tensorboard/ in the folder of each run "
                    "(needs tensorboardX)");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "Print only errors, and with --json the object");
  command->footer(
      "Examples: orrery run configs/quickstart.json --set cluster.ranks=2 --set train.epochs=20\n"
      "          mpirun -n 4 ./orrery run configs/quickstart.json --set cluster.ranks=4 --backend "
      "mpi");
  command->callback([options, tensorboard, &exit_code] {
    if (*tensorboard)
      options->log.event_files = python_command("event_files.py", {}, {"tensorboardX"});
    exit_code = run_session(*options);
  });
}

}  // namespace orrery
