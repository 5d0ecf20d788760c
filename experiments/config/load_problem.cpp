#include "experiments/config/load_problem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/edges/edge_features.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/graph/training_graph.hpp"
#include "core/partition/grow.hpp"
#include "core/partition/kept/cut_report.hpp"
#include "core/partition/kept/kept_cuts.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/terminal/activity.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kMostParts = 65536;  ///< as partition.parts

/// Trains on the graph of the training vertices, evaluates on the whole graph.
ProblemData inductive(ProblemData whole) {
  ProblemData training;
  if (whole.statistics)
    training.statistics = training_graph(*whole.statistics);
  else
    training.data = std::make_shared<const Dataset>(training_graph(*whole.data));
  training.whole = std::make_shared<const ProblemData>(std::move(whole));
  return training;
}

/// With the weights and features of its edges, where they are asked for.
ProblemData in_memory(const Experiment& experiment) {
  Dataset dataset = load_dataset(experiment.dataset);
  ProblemData made;
  if (experiment.dataset.generator.empty()) {
    const std::filesystem::path folder = locate_dataset(experiment.dataset.path);
    if (experiment.edge_weights && !has_edge_weights(folder))
      throw ConfigError(
          "dataset.edge_weights",
          fmt::format("'{}' has no weights of edges (edge_weights.npy)", dataset.name));
    if (experiment.edge_weights)
      made.edge_weights = read_edge_weights(folder, dataset);
    else if (has_edge_weights(folder))
      dataset.notes.emplace_back("edges have weights, which dataset.edge_weights=true would use");
    if (experiment.edge_features && !has_edge_features(folder))
      throw ConfigError(
          "dataset.edge_features",
          fmt::format("'{}' has no features of edges (edge_features.npy)", dataset.name));
    if (experiment.edge_features)
      made.edge_features = read_edge_features(folder, dataset);
    else if (has_edge_features(folder))
      dataset.notes.emplace_back("edges have features, which dataset.edge_features=true would use");
  }
  made.data = std::make_shared<const Dataset>(std::move(dataset));
  return made;
}

/// The cut of the training graph, extended to the graph of evaluations.
Partition whole_partition(const ProblemData& whole, const Partition& cut) {
  if (whole.statistics) return {cut.parts, {}};
  return grow(cut, training_vertices(*whole.data), *whole.data->graph);
}

/// The parts of an edge partitioner as they are. They are as large as the graph, so none are kept.
MadeCut timed_fragments(const Csr& graph, int parts, const PartitionOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  MadeCut made{cut_into_fragments(graph, parts, options)};
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return made;
}

/// Cuts the graph in memory, or takes what a start before has made of it.
Partition cut_in_memory(const Experiment& experiment, const Dataset& data, int parts) {
  const PartitionOptions& options = experiment.partition;
  const Activity cutting(fmt::format("cutting into {} parts by {}", parts, options.method));
  MadeCut made = experiment.strategy.cross_edges == CrossEdges::as_cut
                     ? timed_fragments(*data.graph, parts, options)
                     : make_or_take_cut(data, parts, options, folder_of_cuts());
  report_cut(options.method, made);
  return std::move(made.partition);
}

}  // namespace

std::string loading_words(const DatasetOptions& dataset) {
  if (dataset.edge_list) return "reading " + dataset.edge_list->files.front();
  if (dataset.generator.empty()) return "reading " + dataset.path;
  if (!dataset.degree_file.empty())
    return fmt::format("generating {} graph with the degrees of {}", dataset.generator,
                       dataset.degree_file);
  return fmt::format("generating {} graph of {} vertices, {} undirected edges", dataset.generator,
                     dataset.generate_vertices, dataset.generate_edges);
}

ProblemData DatasetCache::load(const Experiment& experiment) {
  begin_planning();
  const auto& resolved = experiment.resolved;
  const std::string key = resolved["dataset"].dump() + std::to_string(experiment.seed) +
                          (experiment.links ? resolved["links"].dump() : "");
  if (key != key_) {
    last_ = {};  // before the next one takes memory
    if (!experiment.dataset.feature_files.empty())
      throw ConfigError("dataset.features.files",
                        "is only for orrery infer: elsewhere a data set has its rows in the "
                        "order of its vertices");
    if (experiment.dataset.edge_list)
      throw ConfigError("dataset.edge_list",
                        "is only for orrery infer: elsewhere name a data set as dataset.path "
                        "(orrery dataset convert makes one from a list of edges)");
    const Activity loading(experiment.parts.empty() ? loading_words(experiment.dataset)
                                                    : "reading " + experiment.parts);
    if (experiment.statistics)
      last_.statistics = experiment.statistics;
    else if (experiment.parts.empty())
      last_ = in_memory(experiment);
    else
      last_.stored = std::make_shared<const PartitionedDataset>(experiment.parts);
    if (experiment.links) {
      auto [trained, links] = hold_out_links(*last_.data, *experiment.links, experiment.seed);
      if (trained.magnify > 1)
        trained.notes.push_back(
            fmt::format("each link is in one of the {} copies: an epoch trains on one of {} links",
                        trained.magnify, trained.magnify));
      last_.data = std::make_shared<const Dataset>(std::move(trained));
      last_.links = std::move(links);
    }
    if (experiment.inductive) last_ = inductive(std::move(last_));
    key_ = key;
  }
  return last_;
}

void require_data(const Experiment& experiment) {
  const bool trains = experiment.trains();
  if (experiment.statistics && trains)
    throw ConfigError("dataset.statistics",
                      "dataset.statistics has nothing to train on; use backend sim or orrery plan");
  if (experiment.dataset.magnify > 1 && trains)
    throw ConfigError("dataset.magnify",
                      "a magnified graph has only counts; use backend sim or orrery plan, or set "
                      "it to 1");
}

NumberOfParts parts_of(const Experiment& experiment, std::int64_t data_bytes) {
  const int parts = parts_for(experiment.strategy, experiment.ranks());
  const bool deals = info_of(experiment.strategy).deals_parts;
  const int wanted = experiment.partition.parts;
  if (wanted != 0 && wanted != parts)
    throw ConfigError("partition.parts",
                      fmt::format("found {}, but {} ranks of this strategy need {}: leave it out, "
                                  "or change the ranks",
                                  wanted, experiment.ranks(), parts));
  if (deals && wanted == 0 && experiment.device_bytes) {
    NumberOfParts chosen = number_of_parts({experiment.ranks(), *experiment.device_bytes,
                                            data_bytes, experiment.partition.working_bytes});
    if (chosen.parts > kMostParts)
      throw ConfigError("partition.parts", fmt::format("expected at most {}, found {}: {}",
                                                       kMostParts, chosen.parts, chosen.reason));
    if (chosen.parts != parts && experiment.partition.metis.servers > 1)
      throw ConfigError("partition.levels",
                        fmt::format("2 needs a part for every rank, found {} parts for {} ranks "
                                    "({}): set partition.parts, or leave it out",
                                    chosen.parts, parts, chosen.reason));
    return chosen;
  }
  if (experiment.partition.working_bytes != 0 && deals)
    throw ConfigError("partition.working_bytes",
                      wanted != 0 ? "is for partition.parts auto: leave one of them out"
                                  : "needs the device memory: set cluster.device_bytes, or name "
                                    "a cluster.file");
  if (experiment.partition.working_bytes != 0)
    throw ConfigError("partition.working_bytes",
                      "is for orrery partition with a bare graph, and for strategies that take "
                      "any number of parts: here the strategy and its ranks fix the number");
  return {parts, wanted != 0 ? "partition.parts" : "the strategy and its ranks"};
}

Partition make_partition(const Experiment& experiment, const ProblemData& data) {
  if (data.stored && info_of(experiment.strategy).deals_parts)
    // any number; ranks take them in turn
    return {static_cast<int>(data.stored->sizes().size()), {}};
  const auto parts = static_cast<int>(parts_of(experiment, data_bytes(data.facts())).parts);
  if (!data.stored && experiment.partition.one_sided)
    throw ConfigError("partition.cross_edges",
                      "is for parts that orrery partition writes; in a run see "
                      "strategy.cross_edges of model_averaging");
  if (!data.stored && experiment.partition.hops != 1)
    throw ConfigError("partition.hops",
                      "is for parts that orrery partition writes; in a run a strategy takes what "
                      "it needs (model_averaging: strategy.hops)");
  if (data.statistics) return {parts, {}};
  if (!data.stored) return cut_in_memory(experiment, *data.data, parts);
  const auto there = static_cast<int>(data.stored->sizes().size());
  if (there != parts)
    throw ConfigError("dataset.parts",
                      fmt::format("{} holds {} parts, but {} ranks of this strategy need {}",
                                  experiment.parts, there, experiment.ranks(), parts));
  return {there, {}};
}

int empty_parts(const Partition& partition) {
  if (partition.owner.empty()) return 0;
  std::vector<bool> owns(static_cast<std::size_t>(partition.parts));
  for (const std::int32_t owner : partition.owner) owns[at(owner)] = true;
  return static_cast<int>(std::count(owns.begin(), owns.end(), false));
}

Problem make_problem(const Experiment& experiment, const ProblemData& data, Partition partition) {
  Problem problem;
  static_cast<ProblemData&>(problem) = data;
  problem.model = experiment.model;
  if (data.edge_features) problem.model.edge_features = data.edge_features->width();
  if (const TypedGraph* typed = data.typed(); by_relation(problem.model) && typed != nullptr) {
    problem.model.relations = typed->texts();
    problem.model.types = typed->type_names();
  }
  problem.train = experiment.train;
  problem.strategy = experiment.strategy;
  problem.partition = std::move(partition);
  if (problem.whole && problem.train.eval_every > 0)
    problem.whole_partition = whole_partition(*problem.whole, problem.partition);
  if (info_of(problem.strategy).deals_parts) problem.strategy.parts = problem.partition.parts;
  return problem;
}

Capacities memory_capacities(const Experiment& experiment) {
  Capacities capacities;
  if (experiment.device_bytes) capacities.bytes[at(Space::device)] = *experiment.device_bytes;
  if (!experiment.cluster || experiment.cluster->host.memory_bytes == 0) return capacities;
  const ServerHost& host = experiment.cluster->host;
  std::map<int, int> ranks_of_server;
  for (const int device : experiment.devices)
    ++ranks_of_server[experiment.cluster->server_of(device)];
  int most = 1;
  for (const auto& [server, ranks] : ranks_of_server) most = std::max(most, ranks);
  capacities.bytes[at(Space::host)] = host.memory_bytes / most;
  capacities.bytes[at(Space::pinned_host)] =
      (host.pinned_bytes > 0 ? std::min(host.pinned_bytes, host.memory_bytes) : host.memory_bytes) /
      most;
  capacities.bytes[at(Space::server_host)] = host.memory_bytes / most;
  return capacities;
}

}  // namespace orrery
