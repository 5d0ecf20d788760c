#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <memory>
#include <set>

#include "core/base/error.hpp"
#include "experiments/commands.hpp"
#include "experiments/execute.hpp"
#include "experiments/problem.hpp"
#include "experiments/progress.hpp"
#include "experiments/results.hpp"
#include "experiments/run_report.hpp"
#include "experiments/trace.hpp"

namespace orrery {
namespace {

std::atomic<bool> stop_requested{false};

/// The first Ctrl-C asks for an orderly end, the second ends at once.
extern "C" void on_signal(int) {
  if (stop_requested.exchange(true)) _exit(130);
}

struct Options {
  std::string file, backend, out;
  std::vector<std::string> overrides;
  bool json = false, quiet = false, force = false;
};

void announce(const Dataset& data) {
  fmt::print(stderr, "{}: {} vertices, {} edges{}\n", data.name, data.vertices(), data.edges(),
             data.generated ? " (generated)" : "");
  for (const std::string& note : data.notes) fmt::print(stderr, "  note: {}\n", note);
}

FinishedRun run_one(const Experiment& experiment, DatasetCache& datasets,
                    const ResultFolder& results, const Options& options) {
  const auto data = datasets.load(experiment);
  if (!options.quiet && datasets.just_loaded()) announce(*data);
  const Problem problem = make_problem(experiment, data);
  const auto plan = plan_strategy(problem);
  results.write("config.json", experiment.resolved.dump(2) + "\n");

  ExecuteOptions execute;
  execute.kernels = experiment.kernels;
  execute.placement = experiment.placement();
  execute.capacities = device_capacities(experiment);
  execute.timeline_epochs = experiment.timeline_epochs;
  execute.stop = &stop_requested;
  Outcome outcome;
  {
    const std::string strategy = experiment.resolved["strategy"]["type"];
    ProgressBar bar(experiment.label.empty() ? strategy : experiment.label, problem.train.epochs,
                    !options.quiet);
    outcome =
        execute_on_threads(problem, *plan, execute, [&](const EpochReport& report, double seconds) {
          results.append_line("epochs.jsonl", epoch_json(report, seconds));
          bar.update(report.epoch + 1, report.loss,
                     report.scores ? report.scores->validation : std::nullopt);
        });
  }
  std::vector<std::vector<EpochCost>> costs;
  std::vector<Timeline> timelines;
  std::vector<Summary> summaries;
  for (RankOutcome& rank : outcome.ranks) {
    costs.push_back(std::move(rank.epochs));
    timelines.push_back(std::move(rank.timeline));
    summaries.push_back(rank.summary);
  }
  FinishedRun done{experiment, measure(costs, summaries), {}};
  done.result = result_json(experiment, *data, outcome, done.measured);
  done.result["out_dir"] = results.path().string();
  results.write("timeline.json", chrome_trace(timelines));
  results.write("result.json",
                done.result.dump(2) + "\n");  // last: it says that the folder is complete
  return done;
}

/// A folder name for each combination: its label where that is a plain and unique name, else with
/// its number in front.
std::vector<std::string> folder_names(const std::vector<Experiment>& experiments) {
  std::vector<std::string> names;
  for (const Experiment& e : experiments) names.push_back(as_file_name(e.label));
  const std::set<std::string> distinct(names.begin(), names.end());
  if (distinct.size() < names.size())
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("{:03}-{}", i, names[i]);
  return names;
}

int run_all(Options options) {
  if (!options.backend.empty()) options.overrides.push_back("backend=" + options.backend);
  const auto experiments = load_experiments(options.file, options.overrides);
  const ResultFolder results(options.out.empty() ? default_result_folder(experiments.front().name)
                                                 : std::filesystem::path(options.out),
                             options.force);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);

  const bool sweep = !experiments.front().label.empty();
  const auto names = folder_names(experiments);
  DatasetCache datasets;
  std::vector<FinishedRun> runs;
  std::exception_ptr failure;  // what finished before it is reported all the same
  for (std::size_t i = 0; i < experiments.size() && !stop_requested && !failure; ++i) try {
      if (sweep)
        runs.push_back(run_one(experiments[i], datasets,
                               ResultFolder(results.path() / names[i], options.force), options));
      else
        runs.push_back(run_one(experiments[i], datasets, results, options));
    } catch (const std::exception& error) {
      failure = sweep && i > 0
                    ? std::make_exception_ptr(Error(experiments[i].label + ": " + error.what()))
                    : std::current_exception();
    }
  if (runs.empty() && !failure) throw Error("interrupted before the first run began");
  if (!runs.empty()) {
    nlohmann::ordered_json out = runs.front().result;
    if (sweep) {
      out = sweep_json(runs, results.path().string(), experiments.size() - runs.size());
      results.write("sweep.json", out.dump(2) + "\n");
    }
    if (!options.json || !options.quiet)
      print_report(runs, results.path().string(), options.file, options.json ? stderr : stdout);
    if (options.json) fmt::print("{}\n", out.dump());
  }
  if (failure) std::rethrow_exception(failure);
  return stop_requested ? 1 : 0;
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "train the experiment for real, every combination of its sweep");
  command->add_option("FILE", options->file, "experiment file")->required();
  command->add_option("--set", options->overrides, "override a key: key.path=value")
      ->allow_extra_args(false);
  command->add_option("--backend", options->backend, "how ranks run: threads");
  command->add_option("--out", options->out, "result folder (default: results/<name>-<time>)");
  command->add_flag("--force", options->force, "overwrite results in --out");
  command->add_flag("--json", options->json, "one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "no progress, no notes");
  command->footer(
      "Example: orrery run configs/quickstart.json --set cluster.ranks=2 --set train.epochs=20");
  command->callback([options, &exit_code] { exit_code = run_all(*options); });
}

}  // namespace orrery
