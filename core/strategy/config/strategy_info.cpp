#include "core/strategy/config/strategy_info.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text.append(i + 1 == names.size() ? " and " : ", ");
    text.append(names[i]);
  }
  return text;
}

}  // namespace

bool StrategyInfo::has(ClosedForm form) const {
  return std::find(closed_forms.begin(), closed_forms.end(), form) != closed_forms.end();
}

const StrategyInfo& strategy_info(std::string_view name) {
  for (const StrategyInfo* info : strategy_infos())
    if (info->name == name) return *info;
  throw ConfigError("strategy.type", "no strategy is called \"" + std::string(name) +
                                         "\"; there are " +
                                         strategies_with([](const StrategyInfo&) { return true; }));
}

std::string strategies_with(bool (*property)(const StrategyInfo&)) {
  std::vector<std::string_view> names;
  for (const StrategyInfo* info : strategy_infos())
    if (property(*info)) names.push_back(info->name);
  return listed(names);
}

namespace {

bool carries_attention(const StrategyInfo& info) { return info.carries_attention; }

/// The same, with all rows that an edge comes from at hand at once.
bool keeps_rows(const StrategyInfo& info) {
  return info.carries_attention && !info.sources_pass_by;
}

/// Settings for layers that weigh edges.
void require_attention(const StrategyConfig& strategy, const ModelConfig& model,
                       const StrategyInfo& info) {
  if (by_relation(model) && !info.carries_relations)
    throw ConfigError(
        "model.type",
        fmt::format("{} works by relation, but {} does not support that: use {}", model.type.name,
                    info.name,
                    strategies_with([](const StrategyInfo& s) { return s.carries_relations; })));
  const bool takes_largest = layer_of(model).takes_largest;
  if (!info.carries_attention)
    throw ConfigError("model.type",
                      fmt::format("{} works on edges, but {} does not support that: use one of {}",
                                  model.type.name, info.name,
                                  strategies_with(takes_largest ? keeps_rows : carries_attention)));
  if (info.sources_pass_by && takes_largest)
    throw ConfigError(
        "model.type",
        fmt::format("{} takes the largest over all rows that an edge comes from, and with {} rows "
                    "of other ranks pass by: use one of {}",
                    model.type.name, info.name, strategies_with(keeps_rows)));
  if (info.sources_pass_by && model.attention == Attention::dot)
    throw ConfigError(
        "model.attention",
        fmt::format("\"dot\" weighs an edge by the whole rows at its ends, but with {} rows of "
                    "other ranks come after the weights are needed: use \"additive\", or one of "
                    "{}",
                    info.name, strategies_with(keeps_rows)));
  if (strategy.column_tiles > 1)
    throw ConfigError("strategy.column_tiles",
                      fmt::format("is for products with the adjacency, but {} computes a weight "
                                  "for every edge: set it to 1",
                                  model.type.name));
  if (strategy.memory == Memory::autograd)
    throw ConfigError("strategy.memory",
                      fmt::format("\"autograd\" models the tape of gcn, sage and resgcn+, not of "
                                  "{}: use \"lean\"",
                                  model.type.name));
}

}  // namespace

void require_possible(const StrategyConfig& strategy, const ModelConfig& model) {
  const StrategyInfo& info = info_of(strategy);
  if (model.batch_norm && model.layer_norm)
    throw ConfigError("model.batch_norm", "replaces model.layer_norm: set one of the two to false");
  if (model.batch_norm && !info.sums_over_vertices)
    throw ConfigError(
        "model.batch_norm",
        fmt::format("sums over the vertices of all ranks in every layer, which {} does not do: use "
                    "one of {}, or model.layer_norm",
                    info.name,
                    strategies_with([](const StrategyInfo& s) { return s.sums_over_vertices; })));
  require_sound(model);
  if (weighs_edges(model)) require_attention(strategy, model, info);
  if (model.type == ModelType::sgc && model.dropout == 0 &&
      strategy.first_layer == FirstLayer::exact &&
      (strategy.boundary_sampling < 1 || strategy.staleness > 0))
    throw ConfigError(
        "strategy.first_layer",
        fmt::format("exact lets sgc aggregate its constant input once for all epochs, so "
                    "strategy.{} would have no effect: set it to recompute",
                    strategy.staleness > 0 ? "staleness" : "boundary_sampling"));
  if (info.require_possible) info.require_possible(strategy, model);
}

int parts_for(const StrategyConfig& strategy, int ranks) {
  const auto parts = info_of(strategy).parts_for;
  return parts != nullptr ? parts(strategy, ranks) : ranks;
}

int ranks_for(const StrategyConfig& strategy, int parts) {
  const auto ranks = info_of(strategy).ranks_for;
  return ranks != nullptr ? ranks(strategy, parts) : parts;
}

int period_of(const StrategyConfig& strategy, int epochs) {
  const auto period = info_of(strategy).period;
  return period != nullptr ? std::min(period(strategy, epochs), epochs) : 1;
}

void require_resumable(const StrategyConfig& strategy) {
  const auto why_not = info_of(strategy).why_not_resumable;
  if (why_not == nullptr) return;
  if (const auto why = why_not(strategy)) throw ConfigError("train.checkpoint_every", *why);
}

std::optional<std::string> inexactness(const StrategyConfig& strategy) {
  if (strategy.first_layer == FirstLayer::mggcn_compat)
    return "first_layer mggcn_compat: its times count, its loss does not";
  const auto why = info_of(strategy).inexactness;
  return why != nullptr ? why(strategy) : std::nullopt;
}

bool has_whole_gradients(const StrategyConfig& strategy) {
  return !inexactness(strategy) && learns_from(strategy) == LearnsFrom::data;
}

LearnsFrom learns_from(const StrategyConfig& strategy) {
  if (const auto from = info_of(strategy).learns_from) return from(strategy);
  return inexactness(strategy) ? LearnsFrom::cut : LearnsFrom::data;
}

EvaluatedOn evaluated_on(const StrategyConfig& strategy) {
  const auto on = info_of(strategy).evaluated_on;
  return on != nullptr ? on(strategy) : EvaluatedOn{};
}

std::optional<LearnedFeatures> read_learned_features(const Settings& file) {
  if (!file.flag("strategy.learn_features").value_or(false)) return std::nullopt;
  LearnedFeatures learned;
  learned.rate = file.number("strategy.features_rate")
                     .value_or(file.number("train.learning_rate").value_or(learned.rate));
  learned.types = file.texts("strategy.learned_types").value_or(std::vector<std::string>{});
  return learned;
}

void require_sound_learned_features(const Settings& file) {
  if (file.flag("strategy.learn_features").value_or(false)) {
    if (file.flag("dataset.inductive").value_or(false))
      throw ConfigError("strategy.learn_features",
                        "vertices outside of the training graph would be evaluated with features "
                        "that were never learned: set it or dataset.inductive to false");
    return;
  }
  for (const char* key : {"strategy.learned_types", "strategy.features_rate"})
    if (file.has(key))
      throw ConfigError(key,
                        "applies to learned features: leave it out, or set strategy.learn_features "
                        "to true");
}

void read_part_settings(const Settings& file, StrategyConfig& config) {
  config.degrees = file.choice<Degrees>("strategy.degrees",
                                        {{"part", Degrees::part}, {"original", Degrees::original}},
                                        config.degrees);
  config.evaluate_on = file.choice<EvaluateOn>(
      "strategy.evaluate_on", {{"parts", EvaluateOn::parts}, {"graph", EvaluateOn::graph}},
      config.evaluate_on);
}

void require_fanouts(const std::vector<int>& fanouts, int layers) {
  if (fanouts.size() != at(layers))
    throw ConfigError(
        "strategy.fanouts",
        fmt::format("found [{}], expected a number for each of the {} layers of the model, the "
                    "first at the seeds, such as 10 neighbours, or -1 for all",
                    fmt::join(fanouts, ", "), layers));
  for (const int fanout : fanouts)
    if (fanout != kAllNeighbours && fanout < 1)
      throw ConfigError(
          "strategy.fanouts",
          fmt::format("found {}, expected -1 (all neighbours) or a number >= 1", fanout));
}

void require_number_or(const Settings& file, const std::string& key, const std::string& words) {
  const auto found = file.text(key);
  if (found && words.find('"' + *found + '"') == std::string::npos)
    throw ConfigError(key, fmt::format("found \"{}\", expected a number or {}", *found, words));
}

void require_sound_batch(const Settings& file) {
  require_number_or(file, "strategy.batch", "\"fit\" or \"fit_drawn\"");
}

std::string sampled_fanouts(const std::vector<int>& fanouts) {
  return fmt::format("fanouts {}: gradients are those of sampled neighbours",
                     fmt::join(fanouts, ", "));
}

std::optional<std::string> lost_with_stale_rows(const StrategyConfig& config) {
  if (config.staleness == 0) return std::nullopt;
  return "a checkpoint does not hold the rows of earlier epochs, which strategy.staleness uses "
         "again: set one of the two to 0";
}

}  // namespace orrery
