#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/infer/infer_session.hpp"

namespace orrery {

void add_infer_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InferOptions>();
  CLI::App* command = app.add_subcommand(
      "infer", "Compute a trained model for all vertices, and write a row for each");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--backend", options->backend,
                   "Say how ranks run, as the key backend does: as threads; as processes (mpi) "
                   "under mpirun or srun; simulated (sim), which writes no embeddings")
      ->type_name("threads|mpi|sim");
  command->add_option("--out", options->out, "Write into this folder (default: results/NAME-TIME)")
      ->type_name("DIR");
  auto* force = command->add_flag("--force", options->force, "Replace the results in --out");
  auto* keep = command->add_flag(
      "--keep-layers", options->keep_layers,
      "Keep the graph, drawn neighbours and every layer in files until the result "
      "is there, for --resume");
  auto* resume =
      command
          ->add_flag("--resume", options->resume,
                     "Continue after the last stage that a start with --keep-layers left in --out; "
                     "later ones are kept, too")
          ->excludes(force);
  command
      ->add_flag("--plan", options->plan,
                 "Run nothing: count bytes and memory of every layout of the inference on its "
                 "ranks, the best first (with --backend sim also the seconds)")
      ->excludes(force, keep, resume);
  command->add_flag("--anyway", options->anyway, "Run even if this machine's memory is too small");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "Print only errors, and with --json the object");
  command->footer(
      "Examples: orrery infer configs/inference/quickstart.json --out embedded\n"
      "          orrery infer FILE --set 'inference={\"weights\": \"results/trained\", "
      "\"columns\": "
      "2}'");
  command->callback([options, &exit_code] { exit_code = infer_session(*options); });
}

}  // namespace orrery
