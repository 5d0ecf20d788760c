#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/partition/parts_folder.hpp"
#include "experiments/commands.hpp"
#include "experiments/config.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string source, method, out;
  std::vector<std::string> overrides;
  int parts = 0;
  bool json = false, force = false;
};

/// An experiment file, or a data set by path or name.
Experiment experiment_of(const Options& options) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.method.empty()) overrides.push_back("partition.method=" + options.method);
  const bool file = std::filesystem::path(options.source).extension() == ".json";
  if (file) {
    const auto experiments = load_experiments(options.source, overrides);
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
  return parse_experiments(text.dump(), options.source, overrides).front();
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

int run_partition(const Options& options) {
  const Experiment experiment = experiment_of(options);
  const int parts =
      options.parts > 0 ? options.parts : parts_for(experiment.strategy, experiment.ranks());
  const Dataset data = load_dataset(experiment.dataset);
  const auto begin = std::chrono::steady_clock::now();
  const Partition partition = partition_graph(*data.graph, parts, experiment.partition);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!options.out.empty())
    write_parts(data, partition, experiment.partition.method, options.out, options.force);

  const double replication = replication_factor(*data.graph, partition);
  const double cut = edge_cut(*data.graph, partition), even = balance(partition);
  const double rate = static_cast<double>(data.edges()) / seconds;
  if (options.json) {
    const Json result{{"method", experiment.partition.method},
                      {"parts", parts},
                      {"replication_factor", replication},
                      {"edge_cut", cut},
                      {"balance", even},
                      {"seconds", seconds},
                      {"edges_per_second", rate},
                      {"peak_rss_bytes", peak_resident_bytes()},
                      {"clusters_before", nullptr},
                      {"clusters_after", nullptr},
                      {"out_dir", options.out.empty() ? Json(nullptr) : Json(options.out)}};
    fmt::print("{}\n", result.dump());
    return 0;
  }
  fmt::print("{}: {} vertices, {} edges in {} parts by {}\n", data.name, data.vertices(),
             data.edges(), parts, experiment.partition.method);
  fmt::print(
      "  replication factor  {:.3f}   vertices held with complete neighbourhoods / vertices\n",
      replication);
  fmt::print("  edge cut            {:.1f} %  of the directed edges lead to another part\n",
             100 * cut);
  fmt::print("  balance             {:.3f}   largest part / mean part, in vertices\n", even);
  fmt::print("  time                {}   {} edges/s\n", human_seconds(seconds), human_count(rate));
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
  command->add_option("GRAPH", options->source, "experiment file, or data set by path or name")
      ->required();
  command->add_option("--method", options->method, "block, random, metis or file");
  command->add_option("--parts", options->parts, "how many (default: those of the experiment)")
      ->check(CLI::Range(1, 65536));
  command->add_option("--out", options->out, "folder to write the parts into, one folder each");
  command->add_option("--set", options->overrides, "override a key: key.path=value")
      ->allow_extra_args(false);
  command->add_flag("--force", options->force, "replace --out if it holds parts");
  command->add_flag("--json", options->json, "one JSON object as the last line of standard output");
  command->footer("Example: orrery partition cora --method metis --parts 4 --out parts/cora-4");
  command->callback([options, &exit_code] { exit_code = run_partition(*options); });
}

}  // namespace orrery
