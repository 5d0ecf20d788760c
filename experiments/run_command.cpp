#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <exception>
#include <map>
#include <memory>
#include <set>

#include "backends/cpu/cpu.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "experiments/commands.hpp"
#include "experiments/execute.hpp"
#include "experiments/measure.hpp"
#include "experiments/problem.hpp"
#include "experiments/progress.hpp"
#include "experiments/results.hpp"
#include "experiments/table.hpp"
#include "experiments/trace.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

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

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

/// What one combination leaves for the table.
struct Finished {
  Experiment experiment;
  Measurement measured;
  Json result;
};

Json epoch_json(const EpochReport& report, double seconds) {
  const Accuracies scores = report.scores.value_or(Accuracies{});
  return {{"epoch", report.epoch},
          {"loss", or_null(report.loss)},
          {"train_accuracy", or_null(scores.train)},
          {"val_accuracy", or_null(scores.validation)},
          {"test_accuracy", or_null(scores.test)},
          {"seconds", seconds}};
}

/// The first epoch whose loss is no finite number, or null.
Json diverged_at(const std::vector<EpochReport>& epochs) {
  for (const EpochReport& report : epochs)
    if (report.loss && !std::isfinite(*report.loss)) return report.epoch;
  return nullptr;
}

Json result_json(const Experiment& experiment, const Dataset& data, const Outcome& outcome,
                 const Measurement& m) {
  const auto best = best_epoch(outcome.epochs);
  const Accuracies scores = best ? *best->scores : Accuracies{};
  Json kinds = Json::object();
  for (const auto& [kind, seconds] : m.breakdown.compute_by_kind) kinds[kind] = seconds;
  Json result{
      {"name", experiment.name},
      {"label", experiment.label},
      {"interrupted", outcome.interrupted},
      {"backend", experiment.backend},
      {"kernels", experiment.kernels == "cpu" ? cpu_kernels_description() : experiment.kernels},
      {"strategy", experiment.resolved["strategy"]["type"]},
      {"ranks", experiment.ranks()},
      {"servers", experiment.servers},
      {"epochs", outcome.epochs.size()},
      {"loss", outcome.epochs.empty() ? Json(nullptr) : or_null(outcome.epochs.back().loss)},
      {"diverged_at_epoch", diverged_at(outcome.epochs)},
      {"best_epoch", best ? Json(best->epoch) : Json(nullptr)},
      {"train_accuracy", or_null(scores.train)},
      {"val_accuracy", or_null(scores.validation)},
      {"test_accuracy", or_null(scores.test)},
      {"epoch_seconds", m.epoch_seconds},
      {"breakdown",
       {{"compute", m.breakdown.compute},
        {"internal", m.breakdown.internal},
        {"external", m.breakdown.external},
        {"synchronise", m.breakdown.synchronise},
        {"sample", m.breakdown.sample},
        {"load", m.breakdown.load},
        {"other", m.breakdown.other},
        {"hidden", m.breakdown.hidden}}},
      {"compute_by_kind", kinds},
      {"bytes", {{"internal", m.internal_bytes}, {"external", m.external_bytes}}},
      {"collectives", "flat"},
      {"peak_bytes", m.peak_bytes},
      {"dataset",
       {{"name", data.name},
        {"vertices", data.vertices()},
        {"edges", data.edges()},
        {"generated", data.generated},
        {"features", data.features ? data.features->provenance() : "none"},
        {"notes", data.notes}}},
      {"provenance", provenance()}};
  return result;
}

void announce(const Dataset& data) {
  fmt::print(stderr, "{}: {} vertices, {} edges{}\n", data.name, data.vertices(), data.edges(),
             data.generated ? " (generated)" : "");
  for (const std::string& note : data.notes) fmt::print(stderr, "  note: {}\n", note);
}

Finished run_one(const Experiment& experiment, DatasetCache& datasets, const ResultFolder& results,
                 const Options& options) {
  const auto data = datasets.load(experiment);
  if (!options.quiet && datasets.just_loaded()) announce(*data);
  const Problem problem = make_problem(experiment, data);
  const auto plan = plan_strategy(problem);
  results.write("config.json", experiment.resolved.dump(2) + "\n");

  ExecuteOptions execute;
  execute.kernels = experiment.kernels;
  execute.ranks_per_server = experiment.ranks_per_server;
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
  Finished done{experiment, measure(costs, summaries), {}};
  done.result = result_json(experiment, *data, outcome, done.measured);
  done.result["out_dir"] = results.path().string();
  results.write("timeline.json", chrome_trace(timelines));
  results.write("result.json",
                done.result.dump(2) + "\n");  // last: it says that the folder is complete
  return done;
}

std::string percent(const Json& accuracy) {
  return accuracy.is_null() ? "-" : fmt::format("{:.1f} %", 100 * accuracy.get<double>());
}

/// A column of the table: its header and each run's cell. Columns of seconds that are zero
/// everywhere are left out.
struct Column {
  std::string header;
  double Breakdown::*part;
};
constexpr std::size_t kParts = 8;
const std::array<Column, kParts> kColumns{{{"compute", &Breakdown::compute},
                                           {"internal", &Breakdown::internal},
                                           {"external", &Breakdown::external},
                                           {"gradients", &Breakdown::synchronise},
                                           {"sample", &Breakdown::sample},
                                           {"load", &Breakdown::load},
                                           {"other", &Breakdown::other},
                                           {"(hidden)", &Breakdown::hidden}}};

/// The swept value alone where one key is swept, else the whole label, else the strategy.
std::pair<std::string, std::string> row_name(const Finished& run) {
  const std::string& label = run.experiment.label;
  if (label.empty()) return {"strategy", run.result["strategy"]};
  const auto equals = label.find('=');
  if (label.find(", ") != std::string::npos) return {"setting", label};
  return {label.substr(0, equals), label.substr(equals + 1)};
}

std::string table_of(const std::vector<Finished>& runs) {
  std::vector<std::string> header{row_name(runs.front()).first, "epoch"};
  std::vector<Column> columns;
  for (const Column& c : kColumns)
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const Finished& r) { return r.measured.breakdown.*c.part > 0; }))
      columns.push_back(c);
  for (const Column& c : columns) header.push_back(c.header);
  header.insert(header.end(), {"moved/epoch", "peak/rank", "val", "test"});
  Table table(header);
  for (const Finished& run : runs) {
    const Measurement& m = run.measured;
    std::vector<std::string> row{row_name(run).second, human_seconds(m.epoch_seconds)};
    for (const Column& c : columns) row.push_back(human_seconds(m.breakdown.*c.part));
    row.push_back(human_bytes(m.internal_bytes + m.external_bytes));
    row.push_back(human_bytes(*std::max_element(m.peak_bytes.begin(), m.peak_bytes.end())));
    row.push_back(percent(run.result["val_accuracy"]));
    row.push_back(percent(run.result["test_accuracy"]));
    table.add(row);
  }
  return table.text();
}

/// Busy seconds of the computing ops of the same epochs, the costliest kind first.
std::string computing_table(const std::vector<Finished>& runs) {
  std::map<std::string, double> total;
  for (const Finished& run : runs)
    for (const auto& [kind, seconds] : run.measured.breakdown.compute_by_kind)
      total[kind] += seconds;
  std::vector<std::string> kinds;
  for (const auto& [kind, seconds] : total) kinds.push_back(kind);
  std::sort(kinds.begin(), kinds.end(),
            [&](const std::string& a, const std::string& b) { return total[a] > total[b]; });
  std::vector<std::string> header{"compute, by operation"};
  header.insert(header.end(), kinds.begin(), kinds.end());
  Table table(header);
  for (const Finished& run : runs) {
    const auto& seconds = run.measured.breakdown.compute_by_kind;
    std::vector<std::string> row{row_name(run).second};
    for (const std::string& kind : kinds)
      row.push_back(seconds.contains(kind) ? human_seconds(seconds.at(kind)) : "-");
    table.add(row);
  }
  return table.text();
}

struct Spread {
  double mean = 0, deviation = 0;
};

/// Mean and sample standard deviation of the test accuracies, where all runs have one.
std::optional<Spread> test_spread(const std::vector<Finished>& runs) {
  double sum = 0, squares = 0;
  for (const Finished& run : runs) {
    if (run.result["test_accuracy"].is_null()) return std::nullopt;
    const double x = run.result["test_accuracy"];
    sum += x;
    squares += x * x;
  }
  const auto n = static_cast<double>(runs.size());
  const double variance = n > 1 ? std::max(0.0, (squares - sum * sum / n) / (n - 1)) : 0;
  return Spread{sum / n, std::sqrt(variance)};
}

bool sweeps_only_seeds(const std::vector<Finished>& runs) {
  return runs.size() > 1 && std::all_of(runs.begin(), runs.end(), [](const Finished& r) {
           return r.experiment.label.rfind("seed=", 0) == 0 &&
                  r.experiment.label.find(", ") == std::string::npos;
         });
}

bool any_interrupted(const std::vector<Finished>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const Finished& r) { return r.result["interrupted"].get<bool>(); });
}

void print_for_people(const std::vector<Finished>& runs, const std::filesystem::path& folder,
                      const Options& options, std::FILE* to) {
  const Finished& first = runs.front();
  fmt::print(to, "\n{}: {} ranks as {}, {} layers, {} epochs\n\n", first.experiment.name,
             first.experiment.ranks(), first.experiment.backend, first.experiment.model.layers,
             first.result["epochs"].get<int>());
  fmt::print(to, "{}\n", table_of(runs));
  fmt::print(
      to,
      "epoch = the parts to its right, on the slowest rank of the median epoch; communication "
      "counts\n"
      "where no computation hides it, and (hidden) is what computation hid. internal, external:\n"
      "features between ranks of the same or of another server; gradients: averaging them; other: "
      "idle\n"
      "(hand-overs, cores busy with other ranks). moved: bytes received by all ranks; peak: memory "
      "of\n"
      "the largest rank; val, test: accuracy at the best validation epoch.\n");
  if (!sweeps_only_seeds(runs)) fmt::print(to, "\n{}", computing_table(runs));
  if (sweeps_only_seeds(runs))
    if (const auto spread = test_spread(runs))
      fmt::print(to, "\ntest accuracy over {} seeds: {:.1f} % ± {:.1f}\n", runs.size(),
                 100 * spread->mean, 100 * spread->deviation);
  for (const Finished& run : runs)
    if (!run.result["diverged_at_epoch"].is_null())
      fmt::print(to,
                 "\n{}: the loss is not finite since epoch {}: training diverged; try a smaller "
                 "train.learning_rate\n",
                 row_name(run).second, run.result["diverged_at_epoch"].get<int>());
  if (any_interrupted(runs))
    fmt::print(to,
               "\ninterrupted: the results above hold the epochs that were done, and are marked\n");
  fmt::print(to,
             "\nResults: {}\n"
             "  timeline.json of a run opens in ui.perfetto.dev: one row per rank and lane\n"
             "Try next:\n"
             "  ./orrery plan {}                 what each rank does, moves and holds\n"
             "  ./orrery run {} --set cluster.ranks=2\n",
             folder.string(), options.file, options.file);
}

/// All runs of a sweep as one object; `missing` combinations were not run.
Json sweep_json(const std::vector<Finished>& runs, const ResultFolder& results,
                std::size_t missing) {
  Json out{{"name", runs.front().experiment.name},
           {"backend", runs.front().experiment.backend},
           {"out_dir", results.path().string()},
           {"interrupted", missing > 0 || any_interrupted(runs)},
           {"missing", missing}};
  if (const auto spread = test_spread(runs)) {
    out["mean_test_accuracy"] = spread->mean;
    out["std_test_accuracy"] = spread->deviation;
  }
  out["sweep"] = Json::array();
  for (const Finished& run : runs) out["sweep"].push_back(run.result);
  return out;
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
  std::vector<Finished> runs;
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
    Json out = runs.front().result;
    if (sweep) {
      out = sweep_json(runs, results, experiments.size() - runs.size());
      results.write("sweep.json", out.dump(2) + "\n");
    }
    if (!options.json || !options.quiet)
      print_for_people(runs, results.path(), options, options.json ? stderr : stdout);
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
