#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/starve/starve_report.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct StarveOptions {
  std::string file;
  std::vector<std::string> overrides;
  int epochs = 3;
  bool now = false, json = false;
};

void run_starve(const StarveOptions& options) {
  tell_activities(true);
  end_on_signals();
  const Experiment experiment = load_one_experiment(options.file, options.overrides);
  refuse_sensitivity(experiment, "orrery starve");
  DatasetCache datasets;
  Simulator simulator;
  const calibrate::WorkWatch watch;
  const StarveStudy study =
      study_starving(experiment, options.epochs, !options.now, datasets, simulator);
  const calibrate::OtherWork others = watch.seen();
  if (!options.json) print_starving(experiment.name, study);
  if (study.measured && others.disturbs()) tell("note: {}\n", others.words("the experiment"));
  if (!options.json) return;
  Json told = starving_json(experiment.name, study);
  told["other_work"] = study.measured ? calibrate::other_work_json(others) : Json();
  fmt::print("{}\n", told.dump());
}

}  // namespace

void add_starve_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StarveOptions>();
  CLI::App* command = app.add_subcommand("starve",
                                         "Say which stage keeps the trainers of sampled training "
                                         "waiting, and which settings would be enough");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--epochs", options->epochs,
                   "Epochs to run; the first, or with few batches the first few, do not count")
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--now", options->now, "Report only the present settings, and try no others");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Example: orrery starve configs/sampled/quickstart.json --set sweep={} \\\n"
      "           --set strategy.type=mini_batch --set 'strategy.fanouts=[10,5]'");
  command->callback([options, &exit_code] {
    run_starve(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
