#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/starve/starve_study.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file;
  std::vector<std::string> overrides;
  int epochs = 3;
  bool json = false;
};

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string capacities_text(const StagesAhead& ahead) {
  return fmt::format("{}, {}, {}", ahead.sample, ahead.fetch, ahead.load);
}

std::string cache_text(const Fed& fed) {
  if (fed.cache_bytes == 0) return "none";
  return fmt::format("{}, {}", fed.cache_policy, human_bytes(fed.cache_bytes));
}

void print_stages(const StarveStudy& study) {
  const StageTimes& batch = study.now.batch;
  const StagesAhead& ahead = study.now.ahead;
  std::vector<std::string> header{"stage", "ahead", "a batch", "the trainer waits"};
  if (study.forecast) header.insert(header.end(), {"forecast a batch", "forecast waits"});
  Table table(header, 1);
  const std::array<std::string, kBatchStages> capacity{fmt::format("{}", ahead.sample),
                                                       fmt::format("{}", ahead.fetch),
                                                       fmt::format("{}", ahead.load), ""};
  for (std::size_t s = 0; s < kBatchStages; ++s) {
    std::vector<std::string> row{std::string(name_of(static_cast<BatchStage>(s))), capacity[s]};
    const auto add = [&](const StageTimes& times) {
      row.push_back(human_seconds(times.busy[s]));
      row.push_back(percent(times.waited[s] / times.seconds));
    };
    add(batch);
    if (study.forecast) add(study.forecast->batch);
    table.add(row);
  }
  fmt::print("{}", table.text(room_on(stdout)));
}

/// What the stages say in a sentence.
std::string verdict(const StarveStudy& study) {
  const StageTimes& batch = study.now.batch;
  const BatchStage limit = batch.limit();
  const std::string cores = fmt::format(
      "the stages before training keep {:.1f} cores of a server busy, and need {:.1f} "
      "for trainers that never wait{}",
      study.cores_busy, study.cores_needed,
      study.cores > 0 ? fmt::format("; it has {}", study.cores) : "");
  if (limit == BatchStage::train)
    return fmt::format("training limits: the trainer waits {} of the time for batches; {}",
                       percent(study.now.waiting()), cores);
  return fmt::format(
      "{} limits: the trainer waits {} of the time for batches, {} for this stage; "
      "{}",
      name_of(limit), percent(study.now.waiting()),
      percent(batch.waited[static_cast<std::size_t>(limit)] / batch.seconds), cores);
}

void print_tried(const StarveStudy& study) {
  Table capacities({"sample, fetch, load ahead", "epoch", "waits", "limits"}, 1);
  for (const Fed& fed : study.capacities)
    capacities.add({capacities_text(fed.ahead), human_seconds(fed.epoch_seconds),
                    percent(fed.waiting()), std::string(name_of(fed.batch.limit()))});
  fmt::print("\nwith other capacities, simulated\n{}", capacities.text(room_on(stdout)));
  fmt::print("{}",
             wrapped(fmt::format("enough: {}\n",
                                 capacities_text(study.capacities[study.enough_capacity].ahead)),
                     paragraph_on(stdout)));
  if (study.caches.empty()) return;
  Table caches({"cache of each rank", "epoch", "waits", "limits"}, 1);
  for (const Fed& fed : study.caches)
    caches.add({cache_text(fed), human_seconds(fed.epoch_seconds), percent(fed.waiting()),
                std::string(name_of(fed.batch.limit()))});
  fmt::print("\nwith other caches, simulated\n{}", caches.text(room_on(stdout)));
  fmt::print("enough: {}\n", cache_text(study.caches[study.enough_cache]));
}

void print(const Experiment& experiment, const StarveStudy& study) {
  fmt::print("{}: {} ranks, {} batches an epoch, {} an epoch, {}\n\n", experiment.name, study.ranks,
             study.batches, human_seconds(study.now.epoch_seconds),
             study.measured ? "measured" : "simulated");
  print_stages(study);
  fmt::print("{}", wrapped(verdict(study) + "\n", paragraph_on(stdout)));
  if (study.not_replayed.empty())
    print_tried(study);
  else
    fmt::print("nothing else was tried: {}\n", study.not_replayed);
}

Json fed_json(const Fed& fed) {
  Json stages = Json::object();
  for (std::size_t s = 0; s < kBatchStages; ++s)
    stages[std::string(name_of(static_cast<BatchStage>(s)))] = {
        {"busy_seconds", fed.batch.busy[s]}, {"waited_seconds", fed.batch.waited[s]}};
  return {{"pipeline",
           {{"sample", fed.ahead.sample}, {"fetch", fed.ahead.fetch}, {"load", fed.ahead.load}}},
          {"cache",
           {{"policy", fed.cache_bytes > 0 ? Json(fed.cache_policy) : Json()},
            {"bytes", fed.cache_bytes}}},
          {"epoch_seconds", fed.epoch_seconds},
          {"batch_seconds", fed.batch.seconds},
          {"waiting_share", fed.waiting()},
          {"limits", name_of(fed.batch.limit())},
          {"stages", stages}};
}

Json list_json(const std::vector<Fed>& tried) {
  Json list = Json::array();
  for (const Fed& fed : tried) list.push_back(fed_json(fed));
  return list;
}

Json to_json(const Experiment& experiment, const StarveStudy& study) {
  const auto enough = [](const std::vector<Fed>& tried, std::size_t which) {
    return tried.empty() ? Json() : Json(which);
  };
  return {{"schema_version", kSchemaVersion},
          {"name", experiment.name},
          {"ranks", study.ranks},
          {"batches", study.batches},
          {"measured", study.measured},
          {"now", fed_json(study.now)},
          {"forecast", study.forecast ? fed_json(*study.forecast) : Json()},
          {"cores",
           {{"busy", study.cores_busy},
            {"needed", study.cores_needed},
            {"there", study.cores > 0 ? Json(study.cores) : Json()}}},
          {"capacities", list_json(study.capacities)},
          {"enough_capacity", enough(study.capacities, study.enough_capacity)},
          {"caches", list_json(study.caches)},
          {"enough_cache", enough(study.caches, study.enough_cache)},
          {"not_replayed", study.not_replayed.empty() ? Json() : Json(study.not_replayed)}};
}

void run_starve(const Options& options) {
  tell_activities(true);
  end_on_signals();
  const auto experiments = load_experiments(options.file, options.overrides);
  if (!experiments.front().label.empty())
    throw ConfigError("sweep", "one experiment at a time: choose a combination with --set");
  const Experiment& experiment = experiments.front();
  DatasetCache datasets;
  Simulator simulator;
  const calibrate::WorkWatch watch;
  const StarveStudy study = study_starving(experiment, options.epochs, datasets, simulator);
  const calibrate::OtherWork others = watch.seen();
  if (!options.json) print(experiment, study);
  if (study.measured && others.disturbs()) tell("note: {}\n", others.words("the experiment"));
  if (!options.json) return;
  Json told = to_json(experiment, study);
  told["other_work"] = study.measured ? calibrate::other_work_json(others) : Json();
  fmt::print("{}\n", told.dump());
}

}  // namespace

void add_starve_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "starve",
      "Say which stage keeps the trainers of sampled training waiting, and what would be enough");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--epochs", options->epochs,
                   "Train or simulate so many epochs, of which the first is not counted")
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer("Example: orrery starve configs/sampled/quickstart.json --set sweep={}");
  command->callback([options, &exit_code] {
    run_starve(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
