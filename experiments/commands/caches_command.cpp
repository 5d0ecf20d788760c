#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "core/strategy/store/cache_study.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/commands/grouped.hpp"
#include "experiments/commands/python_script.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/version.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct CachesOptions {
  std::string file, svg, accesses;
  std::vector<std::string> overrides;
  std::vector<double> shares{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
  int epochs = 1;
  bool json = false;
};

/// The requests of an experiment, and the share of them that caches answer.
struct Studied {
  std::string name;
  int ranks = 0;
  std::int64_t row_bytes = 0, batches_of_an_epoch = 0;
  std::vector<double> shares;
  CacheStudy study;

  double bytes_of(std::size_t size) const {
    return static_cast<double>(study.rows[size] * row_bytes);
  }
};

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

/// A share of the rows that a rank would own if all owned the same number; every rank keeps this
/// many.
std::int64_t rows_of(double share, std::int64_t vertices, int ranks) {
  return std::llround(share * static_cast<double>(vertices) / ranks);
}

Studied study(const Experiment& asked, DatasetCache& datasets, const CachesOptions& options) {
  const PreparedExperiment prepared = prepare(asked, datasets.load(asked));
  const Problem& problem = *prepared.problem;
  const auto type = prepared.experiment.resolved["strategy"]["type"].get<std::string>();
  if (type != "mini_batch")
    throw ConfigError(
        "strategy.type",
        fmt::format("{} pulls no rows that a cache could keep; mini_batch does", type));
  if (mini_batch_of(problem.strategy).sizes == BatchSizesFrom::bounds)
    throw ConfigError("strategy.sizes",
                      "caches are asked for the rows of drawn batches: set it to \"drawn\"");
  if (problem.strategy.learned)
    throw ConfigError("strategy.learn_features",
                      "rows that change in every step cannot be kept: set it to false");
  if (mini_batch_of(problem.strategy).cooperative)
    throw ConfigError(
        "strategy.cooperative",
        "a server fetches each row only once, for one of its ranks, and caches belong to "
        "ranks: set it to false");
  if (problem.ranks() == 1)
    throw ConfigError("cluster.ranks", "one rank has all rows itself; set at least 2");
  if (problem.data->magnify > 1)
    throw ConfigError("dataset.magnify",
                      "a cache needs real rows, and here each vertex represents several; set it "
                      "to 1");
  std::vector<std::int64_t> rows;
  for (const double share : options.shares)
    rows.push_back(rows_of(share, problem.data->vertices(), problem.ranks()));
  Activity activity("asking caches");
  const SampledBatches batches(problem);
  std::vector<AccessTrace> kept;
  if (!options.accesses.empty()) kept = read_accesses(options.accesses, batches.owners());
  const auto trace = [&](int rank) {
    activity.update(
        {fmt::format("{} of rank {} of {}, asking caches",
                     kept.empty() ? "drawing the batches" : "the trace", rank, problem.ranks()),
         fmt::format("rank {} of {}", rank, problem.ranks())});
    return kept.empty() ? accesses_of(batches, rank, options.epochs) : std::move(kept[at(rank)]);
  };
  return {prepared.experiment.name, problem.ranks(),
          batches.row_bytes(),      std::int64_t{batches.steps()} * problem.ranks(),
          options.shares,           study_caches(batches, problem.ranks(), rows, trace)};
}

/// The policy that leaves the fewest rows to pull at a size.
std::size_t best_at(const CacheStudy& study, std::size_t size) {
  std::size_t best = 0;
  for (std::size_t p = 1; p < study.policies.size(); ++p)
    if (study.policies[p].hits[size] > study.policies[best].hits[size]) best = p;
  return best;
}

/// Bytes of rows that all ranks pull in an epoch, whose batches are on average like the studied ones.
double pulled(const Studied& of, std::int64_t hits) {
  const double epochs =
      static_cast<double>(of.study.batches) / static_cast<double>(of.batches_of_an_epoch);
  return static_cast<double>((of.study.requests - hits) * of.row_bytes) / epochs;
}

void print(const Studied& of) {
  const CacheStudy& study = of.study;
  const std::string epochs =
      study.epochs == 1 ? "an epoch" : fmt::format("{} epochs", study.epochs);
  fmt::print(
      "{}: {} batches of {} ranks in {} request {} rows of other ranks, {} without a cache\n"
      "({} distinct rows, counted on each rank)\n"
      "\n",
      of.name, grouped(study.batches), of.ranks, epochs, grouped(study.requests),
      human_bytes(static_cast<double>(study.requests * of.row_bytes)), grouped(study.distinct));
  std::vector<std::string> header{"share", "bytes a rank"};
  for (const auto& policy : study.policies) header.push_back(policy.name);
  header.insert(header.end(), {"most possible", "pulled an epoch"});
  Table table(header, 2);
  for (std::size_t s = 0; s < study.rows.size(); ++s) {
    std::vector<std::string> row{fmt::format("{:g} %", 100 * of.shares[s]),
                                 human_bytes(of.bytes_of(s))};
    for (const auto& policy : study.policies)
      row.push_back(fmt::format("{:.1f} %", percent(policy.hits[s], study.requests)));
    const auto& best = study.policies[best_at(study, s)];
    row.push_back(fmt::format("{:.1f} %", percent(study.most[s], study.requests)));
    row.push_back(fmt::format("{} ({})", human_bytes(pulled(of, best.hits[s])), best.name));
    table.add(row);
  }
  fmt::print(
      "{}\n{}\n", table.text(room_on(stdout)),
      wrapped("Share of the requested rows that a cache has. Its size is a share of the rows "
              "that a rank owns on average. lru and clock start empty; the others are filled "
              "once before the first batch. No policy finds more than \"most possible\" "
              "(Belady). Last column: what all ranks still pull in an epoch with the best policy.",
              paragraph_on(stdout)));
}

Json to_json(const Studied& of) {
  const CacheStudy& study = of.study;
  Json sizes = Json::array();
  for (std::size_t s = 0; s < study.rows.size(); ++s)
    sizes.push_back({{"share", of.shares[s]},
                     {"rows_per_rank", study.rows[s]},
                     {"bytes_per_rank", study.rows[s] * of.row_bytes},
                     {"most_hits", study.most[s]}});
  Json policies = Json::array();
  for (const auto& policy : study.policies)
    policies.push_back(
        {{"policy", policy.name}, {"hits", policy.hits}, {"filled_rows", policy.rows_kept}});
  return {{"schema_version", kSchemaVersion},
          {"name", of.name},
          {"ranks", of.ranks},
          {"epochs", study.epochs},
          {"batches", study.batches},
          {"requested_rows", study.requests},
          {"distinct_rows", study.distinct},
          {"row_bytes", of.row_bytes},
          {"sizes", sizes},
          {"policies", policies}};
}

void require_sensible(const CachesOptions& options) {
  if (options.epochs < 1) throw ConfigError("--epochs", "expected at least 1");
  double before = 0;
  for (const double share : options.shares) {
    if (!(share > before) || !std::isfinite(share))
      throw ConfigError("--shares",
                        "expected shares above 0, each larger than the one before it: 0.01,0.1,1");
    before = share;
  }
}

void run_caches(const CachesOptions& options) {
  require_sensible(options);
  tell_activities(true);
  end_on_signals();
  const std::vector<Experiment> experiments = load_experiments(options.file, options.overrides);
  if (experiments.size() > 1 && !options.svg.empty())
    throw ConfigError("--svg", "draws one experiment, but the file has a sweep of several");
  if (experiments.size() > 1 && !options.accesses.empty())
    throw ConfigError("--accesses", "are of one experiment, but the file has a sweep of several");
  DatasetCache datasets;
  Json results = Json::array();
  for (const Experiment& experiment : experiments) {
    const Studied of = study(experiment, datasets, options);
    if (!options.json) print(of);
    results.push_back(to_json(of));
  }
  if (!options.svg.empty()) {
    run_python_script("cache_chart.py", {options.svg}, results.front());
    tell("drew {}\n", options.svg);
  }
  if (!options.json) return;
  Json out = results.front();
  if (results.size() > 1) out["sweep"] = results;
  fmt::print("{}\n", out.dump());
}

}  // namespace

void add_caches_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CachesOptions>();
  CLI::App* command = app.add_subcommand(
      "caches", "Say what caches of every policy and size would save in sampled training");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--shares", options->shares,
                   "Sizes to report, as shares of the rows that a rank owns on average")
      ->delimiter(',')
      ->type_name("LIST")
      ->capture_default_str();
  command->add_option("--epochs", options->epochs, "Epochs to draw")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--accesses", options->accesses,
                   "Draw no batches: read what they asked for from the folder of a simulation "
                   "with simulation.accesses")
      ->type_name("DIR")
      ->excludes("--epochs");
  command->add_option("--svg", options->svg, "Draw the curves into this file")->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer("Example: orrery caches configs/sampled/quickstart.json --svg caches.svg");
  command->callback([options, &exit_code] {
    run_caches(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
