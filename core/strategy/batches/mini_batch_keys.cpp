#include "core/strategy/batches/mini_batch_keys.hpp"

#include <fmt/core.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {
namespace {

const std::initializer_list<std::pair<std::string_view, BatchSampler>> kSamplers{
    {"neighbour", BatchSampler::neighbour},   {"labor", BatchSampler::labor},
    {"weighted", BatchSampler::weighted},     {"all", BatchSampler::all},
    {"cluster", BatchSampler::cluster},       {"saint-node", BatchSampler::saint_node},
    {"saint-edge", BatchSampler::saint_edge}, {"saint-walk", BatchSampler::saint_walk}};

bool draws_fanouts(BatchSampler sampler) {
  return sampler == BatchSampler::neighbour || sampler == BatchSampler::labor ||
         sampler == BatchSampler::weighted;
}

/// One of the settings that give each row to a single rank only, so that it cannot be counted in
/// copies or fetched ahead.
void require_own_rows(const Settings& file, std::string_view key, std::string_view why) {
  if (!file.flag(key).value_or(false)) return;
  if (file.number("strategy.pipeline.fetch").value_or(0) > 0)
    throw ConfigError("strategy.pipeline.fetch",
                      fmt::format("found {}, with {}: {}; set it to 0",
                                  file.shown("strategy.pipeline.fetch"), key, why));
  if (file.number("dataset.magnify").value_or(1) > 1)
    throw ConfigError("dataset.magnify", fmt::format("does not go with {}: set it to 1", key));
}

/// Refuses what needs the numbers of vertices where a batch is drawn.
void require_sound_relabelling(const Settings& file, BatchSampler sampler) {
  const auto refuse = [](const char* why) {
    throw ConfigError("strategy.relabel", fmt::format("\"device\" {}: set it to \"host\"", why));
  };
  if (!draws_seeds(sampler))
    refuse(
        "numbers the ends of drawn edges, but batches of strategy.sampler cluster and saint-* know "
        "their vertices before their edges");
  if (file.flag("strategy.replace").value_or(false))
    refuse(
        "does not go with strategy.replace, whose repeated neighbours become one entry on the "
        "host");
  if (file.flag("strategy.cooperative").value_or(false))
    refuse("does not go with strategy.cooperative, whose ranks share a batch by its numbers");
}

/// Refuses what depends on all batches of a run, where a simulation draws some.
void require_resampled_batches(const Settings& file) {
  if (file.is("strategy.sizes", "largest"))
    throw ConfigError("simulation.batches",
                      "says how many batches are drawn, but with strategy.sizes \"largest\" none "
                      "is: leave one of the two out");
  const auto policy =
      file.choice<CachePolicy>("strategy.cache.policy", kCachePolicies, CachePolicy::degree);
  if (keeps_recent(policy))
    throw ConfigError("simulation.batches",
                      fmt::format("a cache of policy {} has what all batches before asked for, so "
                                  "all must be drawn: leave it out, or use degree, presampled or "
                                  "vip",
                                  file.shown("strategy.cache.policy")));
}

/// Refuses batches that do not ask for rows themselves, or whose rows are not known.
void require_accesses(const Settings& file) {
  const auto refuse = [](const char* why) {
    throw ConfigError("simulation.accesses", fmt::format("{}: set it to false", why));
  };
  if (file.is("strategy.sizes", "largest"))
    refuse("with strategy.sizes \"largest\" no batch is drawn");
  if (file.flag("strategy.learn_features").value_or(false))
    refuse("the rows of strategy.learn_features change in every step, and no cache can keep them");
  if (file.flag("strategy.cooperative").value_or(false))
    refuse("with strategy.cooperative a server fetches each row once, for one of its ranks");
  if (file.number("dataset.magnify").value_or(1) > 1)
    refuse("with dataset.magnify each row stands for several");
}

}  // namespace

void require_possible_batches(const StrategyConfig& config, const ModelConfig& model) {
  if (model.sparse_input)
    throw ConfigError("model.sparse_input",
                      "feature rows are pulled unchanged from their owners: set it to false, or "
                      "use another strategy.type");
  const MiniBatchSettings settings = mini_batch_of(config);
  if (config.learned && settings.cache.bytes > 0)
    throw ConfigError("strategy.cache",
                      "keeps rows, but those of strategy.learn_features change in every step: "
                      "leave one of the two out");
  if (settings.cooperative && settings.cache.bytes > 0)
    throw ConfigError("strategy.cache",
                      "keeps rows for a rank's own batches, but with strategy.cooperative a "
                      "server fetches each row only once, for one of its ranks: leave one of the "
                      "two out");
  if (weighs_edges(model) && (settings.replace || is_saint(settings.sampler)))
    throw ConfigError(
        settings.replace ? "strategy.replace" : "strategy.sampler",
        fmt::format("{} {}, not by how often or how likely they were drawn: {}", model.type.name,
                    by_relation(model) ? "takes the mean of neighbours by relation"
                                       : "weighs neighbours by scores",
                    settings.replace ? "set it to false" : "use neighbour, labor, cluster or all"));
  if (by_relation(model) && settings.sampler == BatchSampler::weighted)
    throw ConfigError("strategy.sampler",
                      fmt::format("\"weighted\" draws among all neighbours of a vertex, and "
                                  "model.type {} tells them apart by relation: use neighbour, "
                                  "labor, cluster or all",
                                  model.type.name));
  if (by_relation(model) && settings.cooperative)
    throw ConfigError(
        "strategy.cooperative",
        fmt::format("does not go with model.type {}: set it to false", model.type.name));
  if (settings.relabel == RelabelOn::device && weighs_relations(model))
    throw ConfigError(
        "strategy.relabel",
        fmt::format("\"device\" gives all vertices of a batch one list of numbers, but "
                    "model.type {} has one for the sources of each relation, which the "
                    "host makes: set it to \"host\"",
                    model.type.name));
  if (settings.fanouts_by_relation && !by_relation(model))
    throw ConfigError("strategy.fanouts_per",
                      fmt::format("\"relation\" goes with models that work by relation, but "
                                  "model.type {} does not: set it to \"vertex\"",
                                  model.type.name));
  if (!draws_fanouts(settings.sampler)) return;
  require_fanouts(settings.fanouts, model.layers);
}

void require_sound_mini_batch(const Settings& file) {
  require_sound_batch(file);
  require_own_rows(file, "strategy.learn_features",
                   "learned rows travel when the step begins; otherwise they would be old");
  require_own_rows(file, "strategy.cooperative",
                   "a server shares one batch, and each rank computes with its own rows");
  if (file.has("simulation.batches")) require_resampled_batches(file);
  if (file.flag("simulation.accesses").value_or(false)) require_accesses(file);
  if (file.is("strategy.sizes", "largest")) {
    if (!file.is("backend", "sim"))
      throw ConfigError("strategy.sizes",
                        "\"largest\" counts batches and draws none, so nothing can be learned: set "
                        "backend to sim, or leave it out");
    if (file.flag("strategy.cooperative").value_or(false))
      throw ConfigError("strategy.cooperative",
                        "how the ranks of a server share a batch that is not drawn is not known: "
                        "set it to false, or strategy.sizes to \"drawn\"");
    if (file.is("strategy.batch", "fit_drawn"))
      throw ConfigError("strategy.batch",
                        "\"fit_drawn\" is of batches that are drawn, but with strategy.sizes "
                        "\"largest\" none is: use \"fit\"");
    if (file.has("strategy.cache"))
      throw ConfigError("strategy.cache",
                        "nobody knows which rows a cache has for batches that are not drawn: leave "
                        "it out, or set strategy.sizes to \"drawn\"");
  }
  const auto sampler = file.choice<BatchSampler>("strategy.sampler", kSamplers, {});
  const auto policy =
      file.choice<CachePolicy>("strategy.cache.policy", kCachePolicies, CachePolicy::degree);
  if (file.integer("strategy.pipeline.fetch", 0) > 0 && keeps_recent(policy))
    throw ConfigError("strategy.pipeline.fetch",
                      fmt::format("strategy.cache.policy {} keeps rows for one batch at a time: "
                                  "set it to 0, or use degree, presampled or vip",
                                  file.shown("strategy.cache.policy")));
  if (policy == CachePolicy::vip && sampler == BatchSampler::weighted)
    throw ConfigError("strategy.cache.policy",
                      "\"vip\" computes how likely rows are where all neighbours of a vertex are "
                      "equally likely: use \"presampled\" or \"degree\", or set "
                      "strategy.sampler to \"neighbour\"");
  if (!draws_fanouts(sampler) && file.has("strategy.fanouts"))
    throw ConfigError(
        "strategy.fanouts",
        "goes with strategy.sampler neighbour, labor or weighted: the others take every "
        "neighbour that they have; leave it out");
  if (policy == CachePolicy::vip && file.is("strategy.fanouts_per", "relation"))
    throw ConfigError("strategy.cache.policy",
                      "\"vip\" computes how likely rows are where fanouts count all relations "
                      "together: use \"presampled\" or \"degree\", or set strategy.fanouts_per to "
                      "\"vertex\"");
  if (file.has("strategy.fanouts_of") && !file.is("strategy.fanouts_per", "relation"))
    throw ConfigError("strategy.fanouts_of",
                      "names relations, but fanouts count all of them together: set "
                      "strategy.fanouts_per to \"relation\", or leave it out");
  if (!draws_fanouts(sampler) && file.is("strategy.fanouts_per", "relation"))
    throw ConfigError(
        "strategy.fanouts_per",
        "\"relation\" goes with fanouts (strategy.sampler neighbour or labor): set it "
        "to \"vertex\"");
  if (sampler != BatchSampler::neighbour && file.flag("strategy.replace").value_or(false))
    throw ConfigError("strategy.replace", "goes with strategy.sampler neighbour: set it to false");
  if (file.is("strategy.relabel", "device")) require_sound_relabelling(file, sampler);
  require_sound_learned_features(file);
  if (!draws_fanouts(sampler) && file.is("strategy.resample", "epoch"))
    throw ConfigError("strategy.resample",
                      "\"epoch\" applies to drawn neighbours (strategy.sampler neighbour, labor "
                      "or weighted): set it to \"step\"");
  if (draws_seeds(sampler)) return;
  if (file.flag("strategy.cooperative").value_or(false))
    throw ConfigError(
        "strategy.cooperative",
        "batches of strategy.sampler cluster and saint-* have no seeds, so ranks "
        "cannot share one: use neighbour, labor, weighted or all, or set it to false");
  if (file.has("strategy.seeds") && !file.is("strategy.seeds", "local"))
    throw ConfigError("strategy.seeds",
                      fmt::format("{} applies to seeds, but batches of strategy.sampler cluster "
                                  "and saint-* have none: each rank draws its own batches; set "
                                  "it to \"local\"",
                                  file.shown("strategy.seeds")));
  if (file.is("strategy.cache.policy", "vip"))
    throw ConfigError("strategy.cache.policy",
                      "\"vip\" applies to vertices that seeds draw, but batches of "
                      "strategy.sampler cluster and saint-* have no seeds: use \"presampled\" or "
                      "\"degree\"");
  if (sampler != BatchSampler::cluster) return;
  if (file.has("strategy.batch"))
    throw ConfigError(
        "strategy.batch",
        "a batch of strategy.sampler cluster is strategy.together of its parts: leave "
        "it out");
  const auto parts = file.number("strategy.clusters"), together = file.number("strategy.together");
  if (!parts)
    throw ConfigError("strategy.clusters",
                      "is required with strategy.sampler cluster: the number of parts that METIS "
                      "cuts the graph into");
  if (together.value_or(1) > *parts)
    throw ConfigError("strategy.together", fmt::format("found {}, but there are {} clusters",
                                                       file.shown("strategy.together"),
                                                       file.shown("strategy.clusters")));
}

void read_mini_batch(const Settings& file, StrategyConfig& config) {
  MiniBatchSettings settings;
  settings.batch = file.integer("strategy.batch", 1000);
  if (file.text("strategy.batch")) settings.batch = 0;  // as in a memory without limit
  settings.seeds = file.choice<SeedsFrom>(
      "strategy.seeds",
      {{"local", SeedsFrom::own}, {"server", SeedsFrom::server}, {"global", SeedsFrom::all}},
      settings.seeds);
  settings.sampler = file.choice<BatchSampler>("strategy.sampler", kSamplers, settings.sampler);
  settings.walk_length = file.integer("strategy.walk_length", settings.walk_length);
  settings.coverage = file.integer("strategy.coverage", settings.coverage);
  settings.clusters = file.integer("strategy.clusters", settings.clusters);
  settings.together = file.integer("strategy.together", settings.together);
  settings.cache.policy =
      file.choice<CachePolicy>("strategy.cache.policy", kCachePolicies, settings.cache.policy);
  settings.cache.bytes = file.bytes("strategy.cache.bytes").value_or(0);
  settings.fanouts = file.integers("strategy.fanouts").value_or(std::vector<int>{});
  settings.fanouts_by_relation = file.is("strategy.fanouts_per", "relation");
  if (auto of_relations = file.integers_by_name("strategy.fanouts_of"))
    settings.fanouts_of = std::move(*of_relations);
  settings.replace = file.flag("strategy.replace").value_or(false);
  settings.cooperative = file.flag("strategy.cooperative").value_or(false);
  if (file.is("strategy.relabel", "device")) settings.relabel = RelabelOn::device;
  if (file.is("strategy.sizes", "largest")) settings.sizes = BatchSizesFrom::bounds;
  if (file.is("backend", "sim")) settings.drawn_steps = file.integer("simulation.batches", 0);
  config.learned = read_learned_features(file);
  settings.resample_steps = !file.is("strategy.resample", "epoch");
  StagesAhead& ahead = settings.ahead;
  ahead.sample = file.integer("strategy.pipeline.sample", ahead.sample);
  ahead.fetch = file.integer("strategy.pipeline.fetch", ahead.fetch);
  ahead.load = file.integer("strategy.pipeline.load", ahead.load);
  config.own = settings;
}

std::optional<std::string> inexactness_of_mini_batch(const StrategyConfig& config) {
  const MiniBatchSettings settings = mini_batch_of(config);
  if (settings.sampler == BatchSampler::all) return std::nullopt;
  if (settings.sampler == BatchSampler::weighted)
    return "neighbours drawn by weight: gradients are those of their plain means";
  if (settings.sampler == BatchSampler::cluster)
    return fmt::format("clusters {}, {} together: gradients are those of the edges within a batch",
                       settings.clusters, settings.together);
  if (is_saint(settings.sampler))
    return fmt::format("subgraphs of {} draws: gradients are those of the edges within a subgraph",
                       settings.batch);
  return sampled_fanouts(settings.fanouts);
}

}  // namespace orrery
