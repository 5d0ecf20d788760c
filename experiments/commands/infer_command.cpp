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
      "infer", "Compute a trained model for all vertices, and write what it says of each");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--backend", options->backend,
                   "Say how ranks run, as the key backend does: as threads; as processes (mpi) "
                   "under mpirun or srun; simulated (sim), which writes no embeddings")
      ->type_name("threads|mpi|sim");
  command->add_option("--out", options->out, "Write into this folder (default: results/NAME-TIME)")
      ->type_name("DIR");
  auto* force =
      command->add_flag("--force", options->force, "Replace the results that --out holds");
  auto* keep =
      command->add_flag("--keep-layers", options->keep_layers,
                        "Keep every layer in files until the result is there, to go on from");
  auto* resume =
      command
          ->add_flag(
              "--resume", options->resume,
              "Go on from the last layer that a start with --keep-layers left in --out; later "
              "ones are kept too")
          ->excludes(force);
  command
      ->add_flag("--plan", options->plan,
                 "Run nothing: count the bytes and the memory of every way to lay the inference "
                 "out on its ranks, the best first (with --backend sim also the seconds)")
      ->excludes(force, keep, resume);
  command->add_flag("--anyway", options->anyway,
                    "Run also what this machine's memory is too small for");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet,
                    "Print errors alone, and with --json the object: no progress, no table");
  command->footer(
      "Examples: orrery infer configs/inference/quickstart.json --out embedded\n"
      "          orrery infer FILE --set 'inference={\"weights\": \"results/trained\", "
      "\"columns\": "
      "2}'");
  command->callback([options, &exit_code] { exit_code = infer_session(*options); });
}

}  // namespace orrery
