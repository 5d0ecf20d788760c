// Small problems that several test programs train on.
#pragma once

#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "core/graph/dataset.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/train.hpp"
#include "core/strategy/vertex_cut_delayed.hpp"
#include "experiments/execute/execute.hpp"

namespace orrery::testing {

constexpr std::uint64_t kSeed = 20240717;

inline const ModelType kSagePool{"sage-pool"};

/// A random graph with features, labels and a split: `edges` directed edges drawn uniformly
/// (self-loops and duplicates included).
inline std::shared_ptr<const Dataset> random_dataset(std::int64_t vertices, std::int64_t edges,
                                                     std::int64_t features, std::int64_t classes,
                                                     bool symmetric) {
  auto data = std::make_shared<Dataset>();
  data->name = "random";
  EdgeList list;
  list.vertices = vertices;
  Sequence draws(kSeed, Purpose::edges, 0);
  const auto vertex = [&] {
    return static_cast<Vertex>(draws.below(static_cast<std::uint64_t>(vertices)));
  };
  for (std::int64_t i = 0; i < edges; ++i) {
    list.source.push_back(vertex());
    list.destination.push_back(vertex());
  }
  const Csr graph = build_csr(list);
  data->graph = std::make_shared<const Csr>(symmetric ? symmetrise(graph) : graph);
  data->symmetric = symmetric;
  data->features = random_features(vertices, features, kSeed);
  data->labels.classes = classes;
  for (std::int64_t v = 0; v < vertices; ++v) {
    data->labels.values.push_back(
        static_cast<std::int32_t>(draws.below(static_cast<std::uint64_t>(classes))));
    const auto pick = draws.below(10);
    data->split.push_back(pick < 6 ? Split::train : pick < 8 ? Split::validation : Split::test);
  }
  return data;
}

/// A strategy with its name in tests.
struct NamedStrategy {
  std::string name;
  StrategyConfig config;
};

inline StrategyConfig batches_of(MiniBatchSettings settings) {
  StrategyConfig config;
  config.type = "mini_batch";
  config.first_layer = FirstLayer::recompute;
  config.own = std::move(settings);
  return config;
}

/// Every strategy in each of its variants that trains what one rank would. (Parts average gradients
/// of the whole graph where they hold all that their vertices depend on.)
inline std::vector<NamedStrategy> all_strategies() {
  StrategyConfig full, row, column, copies, grid;
  row.type = column.type = "spmm_1d";
  column.variant = Variant::column;
  copies.type = "spmm_15d";
  StrategyConfig two_copies = copies;
  two_copies.replication = 2;
  grid.type = "spmm_2d";
  grid.first_layer = FirstLayer::recompute;
  StrategyConfig parts;
  parts.type = "model_averaging";
  parts.averaging = Averaging::gradient;
  parts.hops = 40;
  parts.degrees = Degrees::original;
  StrategyConfig preloading;
  preloading.type = "shared_preloading";
  preloading.ranks_per_server = 2;
  StrategyConfig one_layer = preloading, singles = preloading;
  one_layer.depth = 1;
  singles.ranks_per_server = 1;
  singles.depth = 2;
  singles.split = ServerSplit::random;
  // The seeds are all training vertices, with all their neighbours.
  const StrategyConfig batches = batches_of({.batch = 1 << 20, .sampler = BatchSampler::all});
  StrategyConfig fragments;
  fragments.type = "vertex_cut";
  fragments.cross_edges = CrossEdges::as_cut;
  return {{"FullGraph", full},
          {"Spmm1dRow", row},
          {"Spmm1dColumn", column},
          {"Spmm15dOneCopy", copies},
          {"Spmm15dTwoCopies", two_copies},
          {"Spmm2d", grid},
          {"GradientsOfParts", parts},
          {"SharedPreloading", preloading},
          {"PreloadingOneLayer", one_layer},
          {"PreloadingTwoLayersOnSingleRanks", singles},
          {"BatchOfAllNeighbours", batches},
          {"VertexCut", fragments}};
}

/// Why no strategy is made for a problem; empty: one is.
inline std::string refusal(const Problem& problem) {
  try {
    make_strategy(problem);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// Local models, whose losses are their own: a part a rank, and several parts a rank (`workers` of
/// 4).
inline std::vector<NamedStrategy> local_model_strategies() {
  StrategyConfig one;
  one.type = "model_averaging";
  one.interval = 2;
  StrategyConfig several = one;
  several.parts = 6;
  several.workers = 4;
  several.hops = 2;
  return {{"ModelsOfParts", one}, {"ModelsOfSeveralParts", several}};
}

/// Strategies that leave out or use again some of the travelling rows.
inline std::vector<NamedStrategy> inexact_strategies() {
  StrategyConfig sampled, stale, historical, delayed;
  sampled.boundary_sampling = 0.5;
  stale.staleness = 1;
  historical.type = "spmm_1d";
  historical.staleness = 2;
  delayed.type = "vertex_cut";
  delayed.cross_edges = CrossEdges::as_cut;
  delayed.own = DelaySettings{2};
  return {{"BoundarySampling", sampled},
          {"StaleHalo", stale},
          {"HistoricalBroadcasts", historical},
          {"DelayedSums", delayed}};
}

/// Those that can train from folders of parts.
inline std::vector<NamedStrategy> strategies_of_stored_parts() {
  auto all = all_strategies();
  std::erase_if(all, [](const auto& s) {
    return s.config.type == "model_averaging" || s.config.type == "shared_preloading" ||
           s.config.type == "mini_batch" || s.config.type == "vertex_cut";
  });
  return all;
}

inline Problem make_problem(std::shared_ptr<const Dataset> data, int ranks,
                            const StrategyConfig& strategy,
                            const std::string& partition = "random") {
  Problem problem;
  problem.data = std::move(data);
  problem.strategy = strategy;
  problem.train.seed = kSeed;
  problem.train.epochs = 20;
  problem.model.hidden = 16;
  const int parts = parts_for(strategy, ranks);
  problem.partition = strategy.type == "vertex_cut"
                          ? cut_into_fragments(*problem.data->graph, parts, {"hdrf", "", kSeed})
                          : partition_graph(*problem.data->graph, parts, {partition, "", kSeed});
  return problem;
}
/// Gives every edge of the data, and of its relations, features of its own: standard normal draws.
inline void add_edge_features(Problem& problem, std::int64_t width) {
  const Dataset& data = *problem.data;
  auto features = std::make_shared<EdgeFeatures>();
  std::int64_t rows = 0;
  const auto numbered = [&](const std::shared_ptr<const Csr>& graph) {
    EntryValues<Vertex> made{graph, std::vector<Vertex>(graph->columns.size())};
    for (Vertex& row : made.values) row = static_cast<Vertex>(rows++);
    return made;
  };
  features->row_of_entry.of_graph = numbered(data.graph);
  if (data.typed)
    for (const Relation& relation : data.typed->relations)
      features->row_of_entry.of_relations.push_back(numbered(relation.graph));
  std::vector<float> values;
  Sequence draws(kSeed, Purpose::features, 77);
  for (std::int64_t i = 0; i < rows * width; ++i)
    values.push_back(static_cast<float>(3 * draws.uniform() - 1.5));
  values.resize(at((rows + 1) * width));
  features->rows = dense_features(rows + 1, width, std::move(values), "drawn", true);
  problem.model.edge_features = width;
  problem.edge_features = std::move(features);
}

/// Gives every edge of the data, and of its relations, a weight: some are 0.
inline void add_edge_weights(Problem& problem) {
  auto weights = std::make_shared<EdgeValues<float>>();
  Sequence draws(kSeed, Purpose::features, 78);
  const auto drawn = [&](const std::shared_ptr<const Csr>& graph) {
    EntryValues<float> made{graph, std::vector<float>(graph->columns.size())};
    for (float& weight : made.values)
      weight = static_cast<float>(std::max(0.0, 2.5 * draws.uniform() - 0.5));
    return made;
  };
  weights->of_graph = drawn(problem.data->graph);
  if (problem.data->typed)
    for (const Relation& relation : problem.data->typed->relations)
      weights->of_relations.push_back(drawn(relation.graph));
  problem.edge_weights = std::move(weights);
}

/// The features of an edge; zeros if there is no such edge.
inline std::vector<double> features_of_edge(const EdgeFeatures& features, Vertex destination,
                                            Vertex source,
                                            std::optional<std::uint32_t> relation = std::nullopt) {
  const Vertex row = features.row_of(destination, source, relation);
  std::vector<float> values(at(features.width()));
  features.rows->read({&row, 1}, 0, features.width(), values.data(), features.width());
  return {values.begin(), values.end()};
}

inline Problem make_problem(std::shared_ptr<const Dataset> data, int ranks,
                            const std::string& strategy, const std::string& partition = "random") {
  StrategyConfig config;
  config.type = strategy;
  return make_problem(std::move(data), ranks, config, partition);
}

/// A run that keeps its steps and looks for writes beside its tensors.
inline ExecuteOptions watched(const std::string& kernels = "reference") {
  ExecuteOptions options;
  options.kernels = kernels;
  options.keep_steps = true;
  options.guard_bytes = 64;
  return options;
}

inline Outcome execute(const Problem& problem, const std::string& kernels = "reference") {
  const ExecuteOptions options = watched(kernels);
  return execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});
}

inline std::vector<double> losses(const Outcome& outcome) {
  std::vector<double> values;
  for (const EpochReport& report : outcome.epochs) values.push_back(*report.loss);
  return values;
}

}  // namespace orrery::testing
