#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/config/version.hpp"
#include "experiments/predict/servers/price.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/experiment_stages.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct BreakdownOptions {
  std::string file, out;
  std::vector<std::string> overrides, methods;
  bool json = false;
};

std::string runs_of(double number) {
  return fmt::format("{:.0f} run{}", number, number == 1 ? "" : "s");
}

/// When the method of the row has taken less time than that of the column: "after 4 runs", or "up
/// to 3 runs" if the other pays later.
std::string payback(const ExperimentStages& of, const CutStages& row, const CutStages& column) {
  if (&row == &column) return "";
  const auto runs =
      pays_after(of.once(row), of.each_run(row), of.once(column), of.each_run(column));
  if (runs) return *runs == 0 ? "at once" : "after " + runs_of(*runs);
  const auto other =
      pays_after(of.once(column), of.each_run(column), of.once(row), of.each_run(row));
  return other && *other > 1 ? "up to " + runs_of(*other - 1) : "never";
}

/// Where each stage was timed.
std::string places(const ExperimentStages& of) {
  if (!of.simulated) return "";
  return fmt::format("simulated on {}; {}; partition is measured here", of.cluster,
                     of.storage_load ? "files pass its storage"
                                     : "its file describes no storage, so files are not priced");
}

/// What the columns of files count.
const char* words_for_files(const ExperimentStages& of) {
  if (of.simulated)
    return "load: the first server reads the data set, to cut it. save, parts: it writes the "
           "parts, "
           "at the rate of reading. load parts: until all ranks, together, have read theirs. "
           "Decoding is not priced. ";
  return "load: reading the data set. save, parts: writing parts to disk. load parts: reading the "
         "largest part, as each rank reads its own. ";
}

/// What the table of break-even runs adds up.
std::string what_counts(const ExperimentStages& of) {
  if (of.simulated && !of.storage_load)
    return "Cutting counts once, training in every run; files count nowhere, as they have no "
           "price.\n";
  const char* whole = of.simulated
                          ? "loading the data set on every server (this strategy needs the "
                            "whole set)"
                          : "loading the data set (this strategy needs the whole set)";
  return fmt::format("Cutting and saving count once; {} and training count in every run.\n",
                     of.reads_all ? whole : "loading parts");
}

void print(const Experiment& experiment, const ExperimentStages& of) {
  const CutStages& first = of.methods.front();
  const std::string title =
      fmt::format("{}: {} ranks, {} epochs", experiment.name, experiment.ranks(), first.epochs);
  fmt::print("{}\n", wrapped(of.simulated ? title + ", " + places(of) + "\n" : title + "\n",
                             paragraph_on(stdout)));
  const auto of_files = [&](double here, std::optional<double> there) -> std::string {
    if (!of.simulated) return human_seconds(here);
    return there ? human_seconds(*there) : "not priced";
  };
  std::vector<std::string> columns{"",      "load",       "partition", "save",
                                   "parts", "load parts", "epoch",     "train"};
  if (first.usd_per_epoch) columns.emplace_back("price of an epoch");
  Table stages(columns);
  for (const CutStages& s : of.methods) {
    std::vector<std::string> row{s.method,
                                 of_files(of.load, of.storage_load),
                                 human_seconds(s.partition),
                                 of_files(s.save, s.storage_save),
                                 human_bytes(static_cast<double>(s.bytes)),
                                 of_files(s.load_parts, s.storage_load_parts),
                                 human_seconds(s.epoch),
                                 human_seconds(s.train())};
    if (first.usd_per_epoch) row.push_back(dollars(s.usd_per_epoch.value_or(0)));
    stages.add(row);
  }
  fmt::print("{}\n{}", stages.text(room_on(stdout)),
             wrapped(fmt::format("{}train: {} times the median epoch.\n", words_for_files(of),
                                 first.epochs),
                     paragraph_on(stdout)));
  if (of.methods.size() < 2) return;
  std::vector<std::string> header{"takes less time in all than"};
  for (const CutStages& s : of.methods) header.push_back(s.method);
  Table pays(header);
  for (const CutStages& row : of.methods) {
    std::vector<std::string> cells{row.method};
    for (const CutStages& column : of.methods) cells.push_back(payback(of, row, column));
    pays.add(cells);
  }
  fmt::print("\n{}\n{}", pays.text(room_on(stdout)),
             wrapped(what_counts(of), paragraph_on(stdout)));
}

Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json to_json(const Experiment& experiment, const ExperimentStages& of) {
  Json methods = Json::array(), pays = Json::array();
  for (const CutStages& s : of.methods) {
    methods.push_back({{"method", s.method},
                       {"partition_seconds", s.partition},
                       {"save_seconds", s.save},
                       {"parts_bytes", s.bytes},
                       {"load_parts_seconds", s.load_parts},
                       {"load_all_parts_seconds", s.load_all_parts},
                       {"storage_save_seconds", or_null(s.storage_save)},
                       {"storage_load_parts_seconds", or_null(s.storage_load_parts)},
                       {"epoch_seconds", s.epoch},
                       {"train_seconds", s.train()},
                       {"received_bytes_per_epoch", s.communicated}});
    if (s.usd_per_epoch) methods.back()["usd_per_epoch"] = *s.usd_per_epoch;
    for (const CutStages& other : of.methods) {
      if (&s == &other) continue;
      const auto runs = pays_after(of.once(s), of.each_run(s), of.once(other), of.each_run(other));
      pays.push_back({{"method", s.method},
                      {"over", other.method},
                      {"after_runs", runs ? Json(*runs) : Json(nullptr)}});
    }
  }
  return {{"schema_version", kSchemaVersion},
          {"name", experiment.name},
          {"ranks", experiment.ranks()},
          {"epochs", of.methods.front().epochs},
          {"simulated", of.simulated},
          {"reads_whole_data", of.reads_all},
          {"load_seconds", of.load},
          {"storage_load_seconds", or_null(of.storage_load)},
          {"storage_load_everywhere_seconds", or_null(of.storage_load_everywhere)},
          {"methods", methods},
          {"pays", pays}};
}

void run_breakdown(const BreakdownOptions& options) {
  tell_activities(true);
  end_on_signals();
  const Experiment experiment = load_one_experiment(options.file, options.overrides);
  std::vector<std::string> methods = options.methods;
  // As the file says it: a permutation takes the place of a method.
  if (methods.empty()) methods = {experiment.resolved["partition"]["method"].get<std::string>()};
  if (std::set<std::string>(methods.begin(), methods.end()).size() < methods.size())
    throw ConfigError("--methods", "name each method once");
  const std::filesystem::path out =
      options.out.empty() ? default_result_folder("breakdown") : std::filesystem::path(options.out);
  const Job job;
  Runner runner({.quiet = true}, job);
  const calibrate::WorkWatch watch;
  const ExperimentStages made = measure_stages(experiment, methods, out, runner);
  const calibrate::OtherWork others = watch.seen();
  if (!options.json) print(experiment, made);
  if (others.disturbs()) tell("note: {}\n", others.words("the experiment"));
  if (options.json) {
    Json told = to_json(experiment, made);
    told["other_work"] = calibrate::other_work_json(others);
    told["out_dir"] = out.string();
    fmt::print("{}\n", told.dump());
  }
}

}  // namespace

void add_breakdown_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BreakdownOptions>();
  CLI::App* command = app.add_subcommand(
      "breakdown", "Time every stage of an experiment, and say which partitioner pays off");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--methods", options->methods,
                   "Cut by each of these partitioners (default: that of the file)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--out", options->out,
                   "Put parts and runs into this folder (default: results/breakdown-TIME); the "
                   "parts are removed when they are measured")
      ->type_name("DIR");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Example: orrery breakdown configs/ogbn-arxiv.json --set sweep={} --methods "
      "metis,spring,hash");
  command->callback([options, &exit_code] {
    run_breakdown(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
