// Training from parts: each part has its own model, which a rank trains without the others. Once in
// several epochs the models of all parts are averaged, weighted by their training vertices. For
// comparison, gradients can be averaged in every step instead.
//
// Rank i mod W has part i. A part holds its own vertices and replicas of those around them
// (Subgraphs). Replicas are computed as far as own vertices need them. They are never targets, so
// each training vertex counts once. Without neighbourhoods (hops 0) an edge between two parts is in
// neither, or in one of them that is drawn, with its other end as a replica. Or parts are the
// fragments of an edge partitioner; the owner of a vertex is then drawn among those that have it.
// If a part is the only one of its rank, it stays on the device. Otherwise a rank holds one part at
// a time, and the models. Each part is loaded, trains all epochs up to the next average (or the
// next evaluation or checkpoint, which need all models), and is unloaded. So K parts are K loads
// per interval. A part without training vertices has no step and no model. What averaged models
// learn does not depend on the number of ranks.
//
// With `batch` a part's step is not on all of its training vertices but on `batch` of them, and on
// what these depend on within the part: all of it, or neighbours that they draw (`fanouts`).
// Batches are drawn while others compute. A part has its steps of an epoch one after the other, on
// any rank, and each model counts its own.
//
// With averaged gradients, step r of all ranks is on the parts rW .. rW + W − 1, and its loss is
// the mean over their training vertices: with more parts than ranks, the number of ranks is part of
// what is learned. A rank with no part left works on an empty one: its
// gradient is zero, and it makes the same update as the others.
//
// Received per averaging: an all-reduce of the parameters; nothing else.
//
// Source    CATGNN 3.3, 4.2, 5.5
// Departs   without `batch` a part's vertices are trained on at once; CATGNN's batches have 512
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/batches/part_batches.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/product/subgraph_products.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery {
namespace {

class ModelAveraging final : public Strategy {
 public:
  ModelAveraging(const Problem& problem, std::shared_ptr<const Subgraphs> parts)
      : config_(problem.strategy),
        model_(problem.model),
        workers_(problem.ranks()),
        parts_(std::move(parts)),
        in_memory_(!problem.stored),
        prepared_(std::make_shared<Prepared>(parts_->parts())) {
    for (int part = 0; part < parts_->parts(); ++part)
      training_.push_back(parts_->training_vertices(part));
    if (config_.batch == 0) return;
    batches_.emplace(parts_, problem.model, problem.facts(), config_.batch, config_.fanouts,
                     problem.train.seed);
    number_batches();
  }
  /// The same with batches that are counted only, as large as ones of so many seeds can be.
  ///
  /// Requires  batches
  ModelAveraging(const ModelAveraging& drawn, std::int64_t seeds)
      : config_(drawn.config_),
        model_(drawn.model_),
        workers_(drawn.workers_),
        parts_(drawn.parts_),
        in_memory_(drawn.in_memory_),
        prepared_(drawn.prepared_),
        training_(drawn.training_) {
    batches_.emplace(*drawn.batches_, seeds);
    number_batches();
  }

  Schedule schedule(int rank) const override {
    Schedule schedule;
    const bool models = config_.averaging == Averaging::model;
    schedule.training = std::make_shared<ListedSteps>(
        models ? own_steps(rank) : steps_together(rank), batches_.has_value());
    schedule.evaluation = evaluation(rank);
    if (batches_) schedule.ahead = PartBatches::kAhead;
    if (!models) return schedule;
    schedule.local = LocalTraining{config_.interval, several_models_on_a_rank(), shares(rank)};
    for (const int part : own_models(rank))
      if (batches_) schedule.local->steps.push_back(batches_->count(part));
    return schedule;
  }

  std::shared_ptr<const Structure> prepare(int, StructureId which) const override {
    if (batches_ && which.number >= parts()) {
      const auto next = std::upper_bound(first_batch_.begin(), first_batch_.end(), which.number);
      const auto part = static_cast<int>(next - first_batch_.begin()) - 1;
      return batches_->prepare(part, which.draw, which.number - first_batch_[at(part)]);
    }
    if (which.number == kWholeGraph) return prepare_subgraph(parts_->whole(), model_);
    const auto make = [&] { return prepare_subgraph(parts_->part(which.number), model_); };
    const bool kept = in_memory_ && which.number < parts();
    return kept ? prepared_->get(which.number, make) : make();
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    if (batches_ && is_part_batch(*structure)) return load_part_batch(rt, std::move(structure));
    return load_subgraph(rt, std::move(structure), config_);
  }

  std::unique_ptr<Strategy> with_largest_batches() const override {
    return batches_ ? with_largest_batches_of(config_.batch) : nullptr;
  }
  std::int64_t most_seeds() const override {
    return batches_ ? *std::max_element(training_.begin(), training_.end()) : 0;
  }
  std::unique_ptr<Strategy> with_largest_batches_of(std::int64_t seeds) const override {
    return batches_ ? std::make_unique<ModelAveraging>(*this, seeds) : nullptr;
  }

 private:
  using Prepared = OncePerRank<std::shared_ptr<const Structure>>;

  void number_batches() {
    first_batch_.push_back(parts());
    for (int part = 0; part < parts(); ++part)
      first_batch_.push_back(first_batch_.back() + batches_->count(part));
  }
  int parts() const { return parts_->parts(); }
  std::int64_t training(int part) const { return training_[at(part)]; }

  /// The parts whose models a rank has.
  std::vector<int> own_models(int rank) const {
    std::vector<int> own;
    for (int part = rank; part < parts(); part += workers_)
      if (training(part) > 0) own.push_back(part);
    return own;
  }

  std::vector<TrainStep> own_steps(int rank) const {
    std::vector<TrainStep> steps;
    for (const int part : own_models(rank)) {
      if (!batches_) steps.push_back({{part, 0}, static_cast<double>(training(part))});
      for (int batch = 0; batches_ && batch < batches_->count(part); ++batch)
        steps.push_back({{first_batch_[at(part)] + batch, 0},
                         static_cast<double>(batches_->seeds(part, batch))});
    }
    return steps;
  }

  bool several_models_on_a_rank() const {
    for (int rank = 0; rank < workers_; ++rank)
      if (own_models(rank).size() > 1) return true;
    return false;
  }

  /// The same number for every rank.
  std::vector<TrainStep> steps_together(int rank) const {
    std::vector<TrainStep> steps;
    for (int first = 0; first < parts(); first += workers_) {
      std::int64_t vertices = 0;
      for (int part = first; part < std::min(parts(), first + workers_); ++part)
        vertices += training(part);
      if (vertices > 0) steps.push_back({{first + rank, 0}, static_cast<double>(vertices)});
    }
    return steps;
  }

  /// From the last part to the first: the loaded part, and the one to continue with.
  std::vector<int> evaluation(int rank) const {
    if (config_.evaluate_on == EvaluateOn::graph)
      return rank == 0 ? std::vector{kWholeGraph} : std::vector<int>{};
    std::vector<int> own;
    for (int part = rank; part < parts(); part += workers_) own.insert(own.begin(), part);
    return own;
  }

  std::vector<double> shares(int rank) const {
    const auto all = std::accumulate(training_.begin(), training_.end(), std::int64_t{0});
    std::vector<double> shares;
    for (const int part : own_models(rank))
      shares.push_back(static_cast<double>(training(part)) / static_cast<double>(all));
    return shares;
  }

  StrategyConfig config_;
  ModelConfig model_;
  int workers_;
  std::shared_ptr<const Subgraphs> parts_;
  bool in_memory_;  ///< parts, and so what is cut out of them; those of a folder are cut anew
  std::shared_ptr<Prepared> prepared_;  ///< by part
  std::vector<std::int64_t> training_;  ///< vertices of each part
  std::optional<PartBatches> batches_;
  /// The structure number of each part's first batch, after those of the parts; and one past the
  /// last.
  std::vector<int> first_batch_;
};

std::unique_ptr<Strategy> make_model_averaging(const Problem& problem) {
  if (problem.stored)
    return std::make_unique<ModelAveraging>(
        problem, subgraphs_in_folder(problem.stored, problem.model, problem.strategy));
  return std::make_unique<ModelAveraging>(
      problem, subgraphs_in_memory(problem.data, problem.model, problem.partition, problem.strategy,
                                   problem.train.seed));
}

void require_sound_averaging(const Settings& file) {
  require_sound_batch(file);
  const bool dropped = file.is("strategy.cross_edges", "drop") || !file.has("strategy.cross_edges");
  if (!dropped && file.integer("strategy.hops", 1) != 0)
    throw ConfigError("strategy.cross_edges",
                      "is for parts without neighbours; otherwise both parts hold the edge: set "
                      "strategy.hops to 0, or leave it out");
  if (file.is("strategy.averaging", "model") && file.number("train.bucket_bytes") != 0)
    throw ConfigError("train.bucket_bytes",
                      "models are averaged as a whole, and gradients are not: set it to 0, or "
                      "strategy.averaging to \"gradient\"");
  if (file.is("strategy.averaging", "gradient") && file.integer("strategy.interval", 1) != 1)
    throw ConfigError("strategy.interval",
                      "gradients are averaged in every step: leave it out, or set "
                      "strategy.averaging to \"model\"");
  if (file.is("strategy.averaging", "gradient") && file.has("strategy.batch"))
    throw ConfigError("strategy.batch",
                      "parts train on batches of their own where models are averaged: set "
                      "strategy.averaging to \"model\", or strategy.type to \"mini_batch\"");
  if (file.has("strategy.fanouts") && !file.has("strategy.batch"))
    throw ConfigError("strategy.fanouts",
                      "applies to the drawn neighbours of a batch: set strategy.batch");
}

void read_averaging(const Settings& file, StrategyConfig& config) {
  config.averaging = file.choice<Averaging>(
      "strategy.averaging", {{"model", Averaging::model}, {"gradient", Averaging::gradient}},
      config.averaging);
  config.interval = file.integer("strategy.interval", config.interval);
  config.batch = file.integer("strategy.batch", 0);
  if (file.text("strategy.batch"))  // as in a memory without limit
    config.batch = std::numeric_limits<int>::max();
  config.fanouts = file.integers("strategy.fanouts").value_or(std::vector<int>{});
  config.hops = file.integer("strategy.hops", config.hops);
  config.cross_edges = file.choice<CrossEdges>("strategy.cross_edges",
                                               {{"drop", CrossEdges::drop},
                                                {"one_side", CrossEdges::one_side},
                                                {"as_cut", CrossEdges::as_cut}},
                                               config.cross_edges);
  read_part_settings(file, config);
}

void require_possible_fanouts(const StrategyConfig& config, const ModelConfig& model) {
  if (!config.fanouts.empty()) require_fanouts(config.fanouts, model.layers);
}

std::optional<std::string> inexactness_of_batches(const StrategyConfig& config) {
  if (config.fanouts.empty()) return std::nullopt;
  return sampled_fanouts(config.fanouts);
}

EvaluatedOn evaluated_on_parts(const StrategyConfig& config) {
  EvaluatedOn on;
  if (config.evaluate_on == EvaluateOn::parts && config.cross_edges != CrossEdges::drop)
    on.vertices = "own vertices of each part with the edges that it holds";
  else if (config.evaluate_on == EvaluateOn::parts)
    on.vertices = fmt::format("own vertices of each part within the {} hop{} that it holds",
                              config.hops, config.hops == 1 ? "" : "s");
  on.words = "model_averaging: accuracy is that of the averaged model on ";
  return on;
}

}  // namespace

extern const StrategyInfo kModelAveraging;
const StrategyInfo kModelAveraging{
    .name = "model_averaging",
    .make = make_model_averaging,
    .require_sound = require_sound_averaging,
    .read = read_averaging,
    .set_batch = [](StrategyConfig& config, std::int64_t seeds) { config.batch = seeds; },
    .require_possible = require_possible_fanouts,
    .parts_for = [](const StrategyConfig& config,
                    int ranks) { return config.parts > 0 ? config.parts : ranks; },
    .ranks_for = [](const StrategyConfig& config,
                    int parts) { return config.workers > 0 ? config.workers : parts; },
    .deals_parts = true,
    .needs_structure = "the edges decide which vertices a part replicates",
    .carries_attention = true,
    .period = [](const StrategyConfig& config,
                 int) { return config.averaging == Averaging::model ? config.interval : 1; },
    .inexactness = inexactness_of_batches,
    .learns_from = [](const StrategyConfig&) { return LearnsFrom::cut; },
    .evaluated_on = evaluated_on_parts,
    .closed_forms = {ClosedForm::averaged_models}};

}  // namespace orrery
