#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/base/whole_file.hpp"
#include "core/partition/edges/edge_file.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/number_of_parts.hpp"
#include "core/partition/partition_options.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/commands/partition_report.hpp"
#include "experiments/commands/partition_source.hpp"
#include "experiments/commands/python_script.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/validate_json.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostParts = 65536;
constexpr int kMostPartsOfHops = 256;

struct PartitionCommandOptions {
  std::string source, method, compare, out, owners, svg;
  std::vector<std::string> overrides;
  int parts = 0;
  std::optional<int> hops;
  bool json = false, force = false, stream = false;
};

bool is_experiment_file(const PartitionCommandOptions& options) {
  return std::filesystem::path(options.source).extension() == ".json";
}

std::vector<std::string> overrides_of(const PartitionCommandOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.method.empty()) overrides.push_back("partition.method=" + options.method);
  if (options.hops) overrides.push_back(fmt::format("partition.hops={}", *options.hops));
  return overrides;
}

/// An experiment file, or a data set by path or name.
Experiment experiment_of(const PartitionCommandOptions& options) {
  if (is_experiment_file(options)) {
    const auto experiments = load_experiments(options.source, overrides_of(options));
    if (!experiments.front().label.empty())
      throw ConfigError("sweep", "one cut at a time: choose a combination with --set");
    if (!experiments.front().parts.empty())
      throw ConfigError("dataset.parts", "is partitioned already");
    if (experiments.front().statistics)
      throw ConfigError("dataset.statistics", "describe no graph to cut");
    for (const auto& [asked, key] :
         {std::pair{experiments.front().edge_weights, "dataset.edge_weights"},
          std::pair{experiments.front().edge_features, "dataset.edge_features"}})
      if (asked) throw ConfigError(key, "is not in parts: set it to false");
    return experiments.front();
  }
  const Json text{{"name", "partition"},
                  {"dataset", {{"path", options.source}}},
                  {"model", {{"type", "gcn"}}},
                  {"strategy", {{"type", "full_graph"}}}};
  return parse_experiments(text.dump(), options.source, overrides_of(options)).front();
}

/// The experiment with every strategy that computes the same as one rank and can train its model;
/// its own strategy is unchanged.
std::vector<Experiment> with_every_strategy(const PartitionCommandOptions& options,
                                            const Experiment& own) {
  std::vector<Experiment> experiments;
  for (const std::string type :
       {"full_graph", "spmm_1d", "spmm_15d", "spmm_2d", "model_averaging"}) {
    if (own.resolved["strategy"]["type"] == type) {
      experiments.push_back(own);
      continue;
    }
    auto overrides = overrides_of(options);
    overrides.push_back("strategy=" + Json{{"type", type}}.dump());
    overrides.push_back("cluster=" + Json{{"ranks", 4}}.dump());  // the cut fixes the number
    overrides.push_back("backend=threads");                       // records the same as any other
    overrides.push_back("partition=" + Json{{"method", "block"}}.dump());  // it is already cut
    try {
      experiments.push_back(load_experiments(options.source, overrides).front());
    } catch (const ConfigError& refusal) {
      // Nobody asked for this strategy: what the file trains with may not suit it.
      const std::string_view key = refusal.path;
      if (!key.starts_with("model.") && !key.starts_with("train.")) throw;
    }
  }
  return experiments;
}

/// Opens or loads what the options name.
PartitionSource source_of(const PartitionCommandOptions& options, const Experiment& experiment) {
  if (experiment.inductive && (options.stream || is_edge_file(options.source)))
    throw ConfigError("dataset.inductive",
                      "finding the edges among training vertices needs a data set in memory: "
                      "leave --stream out, and name a data set");
  const bool is_file = std::filesystem::is_regular_file(options.source);
  if (is_edge_file(options.source) || (options.stream && is_file && !is_experiment_file(options)))
    return PartitionSource::edges_of(options.source);
  return options.stream ? PartitionSource::stream(experiment.dataset)
                        : PartitionSource::load(experiment.dataset, experiment.inductive);
}

/// This machine's memory, all of it; its devices share it.
std::int64_t memory_here() {
  return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * std::int64_t{::sysconf(_SC_PAGESIZE)};
}

/// --parts, or what the experiment's strategy needs, or what follows from devices and data.
NumberOfParts choose_parts(const PartitionCommandOptions& options, const Experiment& experiment,
                           const PartitionSource& source) {
  if (options.parts > 0) return {options.parts, "--parts"};
  if (is_experiment_file(options)) return parts_of(experiment, source.data_bytes());
  if (experiment.partition.parts > 0) return {experiment.partition.parts, "partition.parts"};
  const int ranks = experiment.ranks();
  return number_of_parts({ranks, experiment.device_bytes.value_or(memory_here() / ranks),
                          source.data_bytes(), experiment.partition.working_bytes});
}

/// The report that every cut must give.
struct Measurement {
  std::int64_t edges = 0;
  int hops = 1;  ///< the number of the model's layers
  /// experiments whose communication is reported; of experiment files
  std::vector<Experiment> strategies;
};

struct Measured {
  CutReport report;
  Partition partition;
};

Measured cut_and_measure(const PartitionSource& source, const Measurement& asked, int parts,
                         const PartitionOptions& how) {
  reset_peak();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Activity> activity;
  activity.emplace(fmt::format("cutting into {} parts by {}", parts, how.method));
  StreamCut cut = source.cut(parts, how);
  CutReport report;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.peak_resident_bytes = peak_resident_bytes();
  report.method = how.method;
  report.parts = parts;
  activity.reset();
  activity.emplace(fmt::format("measuring the cut of {}", how.method));
  report.metrics = source.measure(cut, asked.hops);
  report.edges_per_second = static_cast<double>(asked.edges) / report.seconds;
  report.before = cut.before;
  report.after = cut.after;
  report.training_balance = source.training_balance(cut.partition);
  report.type_balances = type_balances(cut.partition, source.typed());
  activity.reset();
  activity.emplace(fmt::format("counting what strategies receive over the cut of {}", how.method));
  report.volumes = strategy_volumes(asked.strategies, source.in_memory(), cut.partition);
  return {std::move(report), std::move(cut.partition)};
}

void write_owners(const std::string& path, const Partition& partition) {
  std::string text;
  for (const auto owner : partition.owner) text += fmt::format("{}\n", owner);
  write_file(path, text);
}

int compare_all(const PartitionCommandOptions& options, const PartitionSource& source,
                const Measurement& asked, int parts, PartitionOptions how) {
  std::vector<CutReport> reports;
  Json rows = Json::array();
  for (const std::string& method : compared_methods()) {
    if (source.streams() && !takes_edge_stream(method) && !takes_vertex_stream(method)) continue;
    how.method = method;
    try {
      reports.push_back(cut_and_measure(source, asked, parts, how).report);
      rows.push_back(to_json(reports.back()));
    } catch (const NotBuilt& error) {
      tell("{}\n", error.what());
    }
  }
  const Json compared{{"schema_version", kSchemaVersion},
                      {"name", source.name()},
                      {"parts", parts},
                      {"rows", rows}};
  if (options.json)
    fmt::print("{}\n", compared.dump());
  else
    fmt::print("{} in {} part{}\n{}", source.name(), parts, parts == 1 ? "" : "s",
               comparison_table(reports, room_on(stdout)));
  if (!options.svg.empty()) run_python_script("partition_chart.py", {options.svg}, compared);
  return 0;
}

void require_sensible(const PartitionCommandOptions& options) {
  const bool comparing = !options.compare.empty();
  if (comparing && !options.method.empty())
    throw ConfigError("--compare", "and --method exclude each other");
  if (comparing && !(options.out + options.owners).empty())
    throw ConfigError("--compare",
                      "cuts many times and writes no parts: leave --out, --owners out");
  if (!comparing && !options.svg.empty())
    throw ConfigError("--svg", "draws a comparison: give --compare all");
}

/// The cost of writing the parts.
struct Written {
  double seconds = 0;
  std::int64_t bytes = 0, peak_resident_bytes = 0;
};

Written write_all(PartitionSource& source, const Partition& partition,
                  const PartitionCommandOptions& options, const PartitionOptions& how) {
  reset_peak();
  const Activity activity("writing the parts");
  const auto begin = std::chrono::steady_clock::now();
  PartsOptions parts{how.method, method_parameters(how), how.hops, options.force};
  if (how.one_sided) parts.one_sided = how.seed;
  source.write(partition, parts, options.out);
  Written written;
  written.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  written.peak_resident_bytes = peak_resident_bytes();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.out))
    if (entry.is_regular_file()) written.bytes += static_cast<std::int64_t>(entry.file_size());
  return written;
}

int run_partition(const PartitionCommandOptions& options) {
  require_sensible(options);
  tell_activities(true);
  end_on_signals();
  const Experiment experiment = experiment_of(options);
  std::optional<Activity> activity;
  activity.emplace(loading_words(experiment.dataset));
  PartitionSource source = source_of(options, experiment);
  const NumberOfParts chosen = choose_parts(options, experiment, source);
  if (chosen.parts > kMostParts)
    throw ConfigError("--parts", fmt::format("expected at most {}, found {}: {}", kMostParts,
                                             chosen.parts, chosen.reason));
  const auto parts = static_cast<int>(chosen.parts);
  if (parts % experiment.partition.metis.servers != 0)
    throw ConfigError("partition.levels", fmt::format("2 needs parts that {} servers share evenly, "
                                                      "found {}",
                                                      experiment.partition.metis.servers, parts));
  // For a stream the second hop may not take more memory than the cut itself: 40 + parts/8 bytes.
  const int hops = source.streams() && parts > kMostPartsOfHops ? 1 : experiment.model.layers;
  Measurement asked{source.edges(), hops, {}};
  activity.reset();
  if (!source.streams() && is_experiment_file(options))
    asked.strategies = with_every_strategy(options, experiment);
  if (!options.compare.empty())
    return compare_all(options, source, asked, parts, experiment.partition);
  if (experiment.dataset.reorder != "none" && !(options.out + options.owners).empty())
    throw ConfigError(
        "dataset.reorder",
        "numbers vertices anew, and --out and --owners name them by their own numbers: "
        "set it to none");
  if (!options.out.empty()) require_place_for_parts(options.out, options.force);

  const auto [report, partition] = cut_and_measure(source, asked, parts, experiment.partition);
  if (const int empty = empty_parts(partition); empty > 0)
    tell("note: {} of {} parts hold no vertex: ask for fewer\n", empty, parts);
  if (!options.owners.empty()) write_owners(options.owners, partition);
  Written written;
  if (!options.out.empty()) written = write_all(source, partition, options, experiment.partition);
  if (options.json) {
    Json result = to_json(report);
    result["parts_reason"] = chosen.reason;
    result["hops"] = experiment.partition.hops;
    result["out_dir"] = options.out.empty() ? Json(nullptr) : Json(options.out);
    if (!options.out.empty())
      result["writing"] = {{"seconds", written.seconds},
                           {"bytes", written.bytes},
                           {"peak_rss_bytes", written.peak_resident_bytes}};
    fmt::print("{}\n", result.dump());
    return 0;
  }
  fmt::print("{}: {} vertices, {} directed edges in {} parts by {}\n", source.name(),
             partition.owner.size(), asked.edges, parts, report.method);
  fmt::print("  number of parts     {}: {}\n{}", parts, chosen.reason, describe(report));
  if (!options.owners.empty()) fmt::print("owners: {}\n", options.owners);
  if (!options.out.empty())
    fmt::print(
        "  parts written       {} in {}; peak memory {}\nparts: {}\nTry next: a run with "
        "\"dataset\": {{\"parts\": \"{}\"}} and {} ranks\n",
        human_bytes(written.bytes), human_seconds(written.seconds),
        human_bytes(written.peak_resident_bytes), options.out, options.out, parts);
  return 0;
}

}  // namespace

void add_partition_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PartitionCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "partition", "Cut a graph into parts, say how good the cut is, write the parts");
  command
      ->add_option(
          "GRAPH", options->source,
          "An experiment file (the volumes of its strategies are reported, too), a data set by "
          "path or name, or a file of edges: .bin or .edges (int32 pairs) and .npy (int32 [2, "
          "E]) are streamed, not loaded")
      ->required();
  const Json& known = experiment_schema()["properties"]["partition"]["properties"]["method"];
  auto methods = known["enum"].get<std::vector<std::string>>();
  std::erase(methods, "training_block");  // for trainings: who owns the training vertices decides
  command->add_option("--method", options->method, "Cut by this method")
      ->type_name(fmt::format("{}", fmt::join(methods, "|")));
  command->add_option("--compare", options->compare, "Cut by every method, best first")
      ->check(CLI::IsMember({"all"}));
  command->add_flag("--stream", options->stream,
                    "Read the edges one after another and keep none, from a data set folder (with "
                    "the relations of a typed one) or a text (two vertex numbers from 0 per line)");
  command
      ->add_option(
          "--parts", options->parts,
          "Number of parts (default: what the experiment's strategy needs; for a graph alone, "
          "from devices, their memory and the size of the data)")
      ->check(CLI::Range(1, kMostParts));
  command->add_option("--out", options->out, "Write the parts into this folder, one folder each")
      ->type_name("DIR");
  command
      ->add_option("--hops", options->hops,
                   "Hops: parts hold all vertices within this distance of their own (default: 1)")
      ->check(CLI::Range(0, 3));
  command->add_option("--owners", options->owners, "Write the owners into this file, one per line")
      ->type_name("FILE");
  command->add_option("--svg", options->svg, "Draw it into this file, with --compare")
      ->type_name("FILE");
  add_overrides(*command, options->overrides);
  command->add_flag("--force", options->force, "Replace --out if it holds parts");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Example: orrery partition cora --method metis --parts 4 --out parts/cora-4\n"
      "         orrery partition data/large --stream --method spring --parts 16 --out parts/large\n"
      "         orrery partition cora --method spring --parts 8 --set partition.refine=4\n"
      "         orrery partition cora --compare all --parts 8");
  command->callback([options, &exit_code] { exit_code = run_partition(*options); });
}

}  // namespace orrery
