#include <CLI/CLI.hpp>
#include <memory>

#include "experiments/commands/commands.hpp"
#include "experiments/run/run_session.hpp"

namespace orrery {

void add_sweep_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  options->sweep = true;
  CLI::App* command = app.add_subcommand(
      "sweep", "every combination of a file once: goes on where an earlier start stopped");
  command->add_option("FILE", options->file, "experiment file")->required();
  command->add_option("--set", options->overrides, "override a key: key.path=value")
      ->allow_extra_args(false);
  command->add_option("--backend", options->backend,
                      "how ranks run: threads; mpi under mpirun or srun; sim; model");
  command->add_option("--out", options->out, "result folder (default: results/<name>)");
  command->add_flag("--anyway", options->anyway,
                    "run also what this machine's memory is too small for");
  command->add_flag("--json", options->json, "one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "no progress, no notes");
  command->footer(
      "Example: orrery sweep configs/quickstart.json --out results/quickstart\n"
      "results.jsonl in the folder has a line for every combination that is done; one that runs "
      "out "
      "of\nmemory is done too. Remove a line to have it run again.");
  command->callback([options, &exit_code] { exit_code = run_session(*options); });
}

}  // namespace orrery
