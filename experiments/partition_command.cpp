#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "core/base/error.hpp"
#include "core/partition/edge_file.hpp"
#include "core/partition/parts_folder.hpp"
#include "experiments/commands.hpp"
#include "experiments/config.hpp"
#include "experiments/partition_report.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostPartsOfHops = 256;

struct Options {
  std::string source, method, compare, out, owners, svg;
  std::vector<std::string> overrides;
  int parts = 0;
  bool json = false, force = false, stream = false;
};

bool is_experiment_file(const Options& options) {
  return std::filesystem::path(options.source).extension() == ".json";
}

std::vector<std::string> overrides_of(const Options& options) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.method.empty()) overrides.push_back("partition.method=" + options.method);
  return overrides;
}

/// An experiment file, or a data set by path or name.
Experiment experiment_of(const Options& options) {
  if (is_experiment_file(options)) {
    const auto experiments = load_experiments(options.source, overrides_of(options));
    if (!experiments.front().label.empty())
      throw ConfigError("sweep", "one cut at a time: choose a combination with --set");
    if (!experiments.front().parts.empty())
      throw ConfigError("dataset.parts", "is partitioned already");
    if (experiments.front().statistics)
      throw ConfigError("dataset.statistics", "describe no graph to cut");
    return experiments.front();
  }
  const Json text{{"name", "partition"},
                  {"dataset", {{"path", options.source}}},
                  {"model", {{"type", "gcn"}}},
                  {"strategy", {{"type", "full_graph"}}}};
  return parse_experiments(text.dump(), options.source, overrides_of(options)).front();
}

/// The experiment with every strategy that computes as one rank does; its own as it stands.
std::vector<Experiment> with_every_strategy(const Options& options, const Experiment& own) {
  std::vector<Experiment> experiments;
  for (const std::string type : {"full_graph", "spmm_1d", "spmm_15d", "spmm_2d"}) {
    if (own.resolved["strategy"]["type"] == type) {
      experiments.push_back(own);
      continue;
    }
    auto overrides = overrides_of(options);
    overrides.push_back("strategy=" + Json{{"type", type}}.dump());
    overrides.push_back("cluster=" + Json{{"ranks", 4}}.dump());  // the cut says how many
    overrides.push_back("backend=threads");                       // records the same as any other
    overrides.push_back("partition=" + Json{{"method", "block"}}.dump());  // it is cut already
    experiments.push_back(load_experiments(options.source, overrides).front());
  }
  return experiments;
}

/// What is cut, and how: a graph in memory, or the edges of a file.
struct Source {
  std::string name;
  std::shared_ptr<const Dataset> data;
  std::unique_ptr<EdgeStream> file;

  Source(const Options& options, const Experiment& experiment) {
    if (options.stream || is_edge_file(options.source)) {
      name = options.source;
      file = open_edge_file(options.source);
    } else {
      data = std::make_shared<const Dataset>(load_dataset(experiment.dataset));
      name = data->name;
    }
  }
  StreamCut cut(int parts, const PartitionOptions& how) const {
    return file ? cut_stream(*file, parts, how) : cut_graph(*data->graph, parts, how, data->split);
  }
  CutMetrics measure(const StreamCut& cut, int hops) const {
    if (file) return measure_cut(*file, cut.partition, cut.replicas, Neighbours::both, hops);
    CsrEdges rows(*data->graph);
    return measure_cut(rows, cut.partition, cut.replicas, Neighbours::of_row, hops);
  }
  /// Entries of the graph or edges of the file, without self-loops where the file must be counted.
  std::int64_t edges() const { return file ? count_edges(*file).edges : data->edges(); }
};

/// What is asked of every cut.
struct Measurement {
  std::int64_t edges = 0;
  int hops = 1;                        ///< as many as the model has layers
  std::vector<Experiment> strategies;  ///< whose communication is told; of experiment files
};

struct Measured {
  CutReport report;
  Partition partition;
};

Measured cut_and_measure(const Source& source, const Measurement& asked, int parts,
                         const PartitionOptions& how) {
  reset_peak();
  const auto begin = std::chrono::steady_clock::now();
  StreamCut cut = source.cut(parts, how);
  CutReport report;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.peak_resident_bytes = peak_resident_bytes();
  report.method = how.method;
  report.parts = parts;
  report.metrics = source.measure(cut, asked.hops);
  report.edges_per_second = static_cast<double>(asked.edges) / report.seconds;
  report.before = cut.before;
  report.after = cut.after;
  if (source.data) report.training_balance = training_balance(cut.partition, source.data->split);
  report.volumes = strategy_volumes(asked.strategies, source.data, cut.partition);
  return {std::move(report), std::move(cut.partition)};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) throw DataError(path, "", "cannot be written");
}

void write_owners(const std::string& path, const Partition& partition) {
  std::string text;
  for (const auto owner : partition.owner) text += fmt::format("{}\n", owner);
  write_text(path, text);
}

int compare_all(const Options& options, const Source& source, const Measurement& asked, int parts,
                PartitionOptions how) {
  std::vector<CutReport> reports;
  Json rows = Json::array();
  for (const std::string& method : compared_methods()) {
    if (source.file && !takes_edge_stream(method)) continue;
    how.method = method;
    try {
      reports.push_back(cut_and_measure(source, asked, parts, how).report);
      rows.push_back(to_json(reports.back()));
    } catch (const NotBuilt& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  }
  const std::string title = fmt::format("{} in {} parts", source.name, parts);
  if (!options.svg.empty()) write_text(options.svg, comparison_svg(title, reports));
  if (options.json)
    fmt::print("{}\n", Json{{"name", source.name}, {"parts", parts}, {"rows", rows}}.dump());
  else
    fmt::print("{}\n{}", title, comparison_table(reports));
  return 0;
}

void require_sensible(const Options& options, bool streams) {
  const bool comparing = !options.compare.empty();
  if (comparing && !options.method.empty())
    throw ConfigError("--compare", "and --method exclude each other");
  if (comparing && !(options.out + options.owners).empty())
    throw ConfigError("--compare",
                      "cuts many times and writes no parts: leave --out, --owners out");
  if (!comparing && !options.svg.empty())
    throw ConfigError("--svg", "draws a comparison: give --compare all");
  if (streams && !options.out.empty())
    throw ConfigError("--out", "needs a data set, found a file of edges alone: use --owners FILE");
}

int run_partition(const Options& options) {
  const bool streams = options.stream || is_edge_file(options.source);
  require_sensible(options, streams);
  const Experiment experiment = experiment_of(options);
  const int parts =
      options.parts > 0 ? options.parts : parts_for(experiment.strategy, experiment.ranks());
  if (parts % experiment.partition.metis.servers != 0)
    throw ConfigError("partition.levels", fmt::format("2 needs parts that {} servers share evenly, "
                                                      "found {}",
                                                      experiment.partition.metis.servers, parts));
  const Source source(options, experiment);
  // Of a stream the second hop may not take more memory than the cut itself: 40 + parts/8 bytes.
  const int hops = source.file && parts > kMostPartsOfHops ? 1 : experiment.model.layers;
  Measurement asked{source.edges(), hops, {}};
  if (source.data && is_experiment_file(options))
    asked.strategies = with_every_strategy(options, experiment);
  if (!options.compare.empty())
    return compare_all(options, source, asked, parts, experiment.partition);

  const auto [report, partition] = cut_and_measure(source, asked, parts, experiment.partition);
  if (!options.out.empty())
    write_parts(*source.data, partition, report.method, options.out, options.force);
  if (!options.owners.empty()) write_owners(options.owners, partition);
  if (options.json) {
    Json result = to_json(report);
    result["out_dir"] = options.out.empty() ? Json(nullptr) : Json(options.out);
    fmt::print("{}\n", result.dump());
    return 0;
  }
  fmt::print("{}: {} vertices, {} edges in {} parts by {}\n", source.name, partition.owner.size(),
             asked.edges, parts, report.method);
  fmt::print("{}", describe(report));
  if (!options.owners.empty()) fmt::print("owners: {}\n", options.owners);
  if (!options.out.empty())
    fmt::print("parts: {}\nTry next: a run with \"dataset\": {{\"parts\": \"{}\"}} and {} ranks\n",
               options.out, options.out, parts);
  return 0;
}

}  // namespace

void add_partition_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "partition", "cut a graph into parts, print how good the cut is, write the parts");
  command
      ->add_option(
          "GRAPH", options->source,
          "experiment file (the volumes of its model's strategies are told too), data set by "
          "path or name, or a file of edges: .bin or .edges (int32 pairs) and .npy (int32 "
          "[2, E]) are streamed, not loaded")
      ->required();
  command->add_option(
      "--method", options->method,
      "block, degree_block, random, metis, file, hash, ldg, fennel, dbh, powergraph, "
      "hdrf, 2ps-l or spring");
  command->add_option("--compare", options->compare, "all: every method, best first")
      ->check(CLI::IsMember({"all"}));
  command->add_flag("--stream", options->stream,
                    "GRAPH is a text of edges (two vertex numbers from 0 per line): stream it");
  command->add_option("--parts", options->parts, "how many (default: those of the experiment)")
      ->check(CLI::Range(1, 65536));
  command->add_option("--out", options->out, "folder to write the parts into, one folder each");
  command->add_option("--owners", options->owners, "file to write the owners into, one per line");
  command->add_option("--svg", options->svg, "with --compare: also draw it into this file");
  command->add_option("--set", options->overrides, "override a key: key.path=value")
      ->allow_extra_args(false);
  command->add_flag("--force", options->force, "replace --out if it holds parts");
  command->add_flag("--json", options->json, "one JSON object as the last line of standard output");
  command->footer(
      "Example: orrery partition cora --method metis --parts 4 --out parts/cora-4\n"
      "         orrery partition cora --method spring --parts 8 --set partition.refine=4\n"
      "         orrery partition cora --compare all --parts 8");
  command->callback([options, &exit_code] { exit_code = run_partition(*options); });
}

}  // namespace orrery
