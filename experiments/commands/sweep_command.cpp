#include <CLI/CLI.hpp>
#include <memory>

#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/run/run_session.hpp"

namespace orrery {

void add_sweep_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  options->sweep = true;
  CLI::App* command = app.add_subcommand(
      "sweep", "Run every combination of a file once, and continue where an earlier start stopped");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option(
          "--backend", options->backend,
          "Say how ranks run, as the key backend does: as threads; as processes (mpi, nccl) "
          "under mpirun or srun; simulated (sim); by the papers' equations (model)")
      ->type_name("threads|mpi|nccl|sim|model");
  command->add_option("--out", options->out, "Write into this folder (default: results/NAME)")
      ->type_name("DIR");
  command->add_flag("--anyway", options->anyway, "Run even if this machine's memory is too small");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "Print only errors, and with --json the object");
  command->footer(
      "Example: orrery sweep configs/quickstart.json --out results/quickstart\n"
      "results.jsonl in the folder has a line for every combination that is done. One that runs "
      "out of\n"
      "memory is done, too. Remove a line to run its combination again.");
  command->callback([options, &exit_code] { exit_code = run_session(*options); });
}

}  // namespace orrery
