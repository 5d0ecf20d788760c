#include "core/strategy/make_strategy.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/model/layer_type.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/inductive.hpp"
#include "core/strategy/product/sparse_features.hpp"

namespace orrery {

namespace {

/// mggcn_compat has inexact gradients: it may be timed, but nothing may be learned from it.
void require_timing_only(const Problem& problem) {
  if (problem.strategy.first_layer != FirstLayer::mggcn_compat) return;
  if (problem.model.type != ModelType::gcn)
    throw ConfigError("strategy.first_layer", "\"mggcn_compat\" is defined for model.type gcn");
  if (problem.model.order != LayerOrder::automatic)
    throw ConfigError("model.order",
                      "\"mggcn_compat\" is MG-GCN's training, which takes the narrower order: "
                      "leave it at \"auto\", or set strategy.first_layer to \"exact\"");
  if (problem.train.eval_every != 0)
    throw ConfigError("strategy.first_layer",
                      "\"mggcn_compat\" computes inexact gradients, so no accuracy may be "
                      "reported: set train.eval_every to 0, or use \"exact\"");
}

/// A strategy may need more than the data offers: edges instead of counts, the whole graph instead
/// of parts, single vertices instead of magnified ones.
void require_enough_data(const Problem& problem, const StrategyInfo& info) {
  if (problem.data && problem.data->magnify != 1 && !info.magnifiable)
    throw ConfigError(
        "dataset.magnify",
        fmt::format("goes with strategy.type {}: set it to 1",
                    strategies_with([](const StrategyInfo& s) { return s.magnifiable; })));
  if (problem.edge_weights && !info.edge_weights)
    throw ConfigError(
        "dataset.edge_weights",
        fmt::format("goes with strategy.type {}: leave it out",
                    strategies_with([](const StrategyInfo& s) { return s.edge_weights; })));
  const bool means_of_relations = by_relation(problem.model) && !weighs_relations(problem.model);
  if (problem.edge_weights && weighs_edges(problem.model) && !means_of_relations)
    throw ConfigError("dataset.edge_weights",
                      fmt::format("is of models that multiply by A or take means by relation, and "
                                  "\"{}\" computes what an edge "
                                  "weighs: leave it out",
                                  problem.model.type.name));
  if (problem.edge_features && !info.edge_features)
    throw ConfigError(
        "dataset.edge_features",
        fmt::format("goes with strategy.type {}: leave it out",
                    strategies_with([](const StrategyInfo& s) { return s.edge_features; })));
  const bool scored = problem.model.type == ModelType::gat || weighs_relations(problem.model);
  if (problem.edge_features && (!scored || problem.model.attention != Attention::additive))
    throw ConfigError("dataset.edge_features",
                      "adds to the scores of edges: set model.type to gat or rgat and "
                      "model.attention to additive, or leave it out");
  if (problem.statistics && !info.needs_structure.empty())
    throw NeedsStructure(fmt::format(
        "{}: {}, and dataset.statistics has none; {} need no more than that", info.name,
        info.needs_structure,
        strategies_with([](const StrategyInfo& s) { return s.needs_structure.empty(); })));
  if (problem.stored && !info.needs_whole_data.empty())
    throw ConfigError("dataset.parts",
                      fmt::format("{} {}: use dataset.path", info.name, info.needs_whole_data));
}

void require_possible_links(const Problem& problem, const StrategyInfo& info) {
  if (!problem.links) return;
  if (!info.predicts_links)
    throw ConfigError(
        "links",
        fmt::format("are predicted by strategy.type {}, not by {}",
                    strategies_with([](const StrategyInfo& s) { return s.predicts_links; }),
                    info.name));
  if (problem.data->magnify != 1 &&
      (problem.strategy.type != "mini_batch" || problem.train.eval_every != 0))
    throw ConfigError(
        "dataset.magnify",
        "copies of a vertex have links in batches alone, and no scores: set "
        "strategy.type to mini_batch and train.eval_every to 0, or dataset.magnify to 1");
  if (problem.strategy.memory == Memory::autograd)
    throw ConfigError("strategy.memory",
                      "\"autograd\" knows what a tape keeps of a model, not of pairs of vertices: "
                      "use \"lean\"");
}

/// Blocks are of some layer, and not beside bases.
void require_possible_blocks(const Problem& problem) {
  const ModelConfig& model = problem.model;
  if (model.blocks == 0) return;
  if (model.bases > 0)
    throw ConfigError("model.blocks",
                      fmt::format("found {} beside {} bases: weights of relations are blocks, or "
                                  "sums of bases",
                                  model.blocks, model.bases));
  const DataFacts facts = problem.facts();
  const std::int64_t in = input_width(model, facts.features), out = facts.classes;
  const auto has = [&](std::int64_t from, std::int64_t to) { return has_blocks(model, from, to); };
  const bool of_a_layer =
      model.layers == 1 ? has(in, out) : has(in, model.hidden) || has(model.hidden, out);
  if (!of_a_layer && !(model.layers > 2 && has(model.hidden, model.hidden)))
    throw ConfigError("model.blocks",
                      fmt::format("found {}, but no layer has as many columns in its input and its "
                                  "output (features {}, hidden {}, classes {})",
                                  model.blocks, in, model.hidden, out));
}

/// A model that works by relation needs those of the data set it is made for.
void require_relations(const Problem& problem) {
  if (!by_relation(problem.model)) return;
  const std::string name(problem.model.type.name);
  const auto refuse = [&](const char* key, const std::string& why) {
    throw ConfigError(
        key, fmt::format("{}, but model.type {} has weights for each relation", why, name));
  };
  if (problem.whole) refuse("dataset.inductive", "true leaves the relations of edges out");
  if (problem.links && problem.links->relation < 0)
    refuse("links.relation", "is missing, so links are held out of edges without relations");
  if (problem.statistics) refuse("dataset.statistics", "counts edges without relations");
  const TypedGraph* typed = problem.typed();
  if (typed == nullptr && problem.stored)
    refuse("dataset.parts", "have edges without relations (cut a data set with types)");
  if (typed == nullptr)
    throw ConfigError("model.type",
                      fmt::format("{} has weights for each relation, and '{}' has no vertex types "
                                  "and relations in its meta.json: use a typed data set, or a "
                                  "model such as sage",
                                  name, problem.data->name));
  if (problem.data && problem.data->magnify != 1 && weighs_relations(problem.model) &&
      problem.strategy.type != "mini_batch")
    throw ConfigError(
        "dataset.magnify",
        fmt::format("model.type {} weighs edges, which copies of a vertex have only in "
                    "batches: set strategy.type to mini_batch and train.eval_every to "
                    "0, or dataset.magnify to 1",
                    name));
  const auto relations = std::ssize(typed->relations);
  if (problem.model.bases > relations)
    throw ConfigError("model.bases",
                      fmt::format("found {}, expected at most the {} relations of '{}', or 0 for "
                                  "weights of their own",
                                  problem.model.bases, relations, problem.facts().name));
  require_possible_blocks(problem);
  ORRERY_ASSERT(std::ssize(problem.model.relations) == relations);
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const Problem& problem) {
  require_relations(problem);
  if (problem.whole) return make_inductive(problem);
  const StrategyInfo& info = info_of(problem.strategy);
  require_timing_only(problem);
  require_possible(problem.strategy, problem.model);
  require_possible_sparse_input(problem);
  require_enough_data(problem, info);
  require_possible_links(problem, info);
  return info.make(problem);
}

}  // namespace orrery
