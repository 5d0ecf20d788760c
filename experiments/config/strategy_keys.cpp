#include "experiments/config/strategy_keys.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "experiments/config/keys.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// The keys of shared_preloading; what is left to the device memory stays at its default.
void set_preloading(StrategyConfig& config, const Json& s) {
  if (s["depth"].is_number()) config.depth = s["depth"].get<int>();
  if (s["batches"].is_number()) config.batches = s["batches"];
  config.split = pick<ServerSplit>(
      s["split"], {{"metis", ServerSplit::metis}, {"random", ServerSplit::random}});
  if (!s.contains("sampling")) return;
  const Json& from = s["sampling"];
  SamplingConfig& sampling = config.sampling.emplace();
  sampling.expansion = {
      from["hops"], from["fanout"],
      pick<ExpansionRule>(from["rule"], {{"connections", ExpansionRule::connections},
                                         {"granndis_artifact", ExpansionRule::granndis_artifact}})};
  sampling.every_epoch = from["redraw"] == "epoch";
}

/// What only goes with training on parts.
void complete_averaging(const Json& root) {
  const Json& s = root["strategy"];
  if (s["type"] == "model_averaging" && s["averaging"] == "gradient" && s["interval"] != 1)
    throw ConfigError("strategy.interval",
                      "gradients are averaged in every step: leave it out, or set "
                      "strategy.averaging to \"model\"");
}

/// Combinations of shared_preloading that the schema cannot express.
void complete_preloading(const Json& root) {
  const Json& s = root["strategy"];
  if (s["type"] != "shared_preloading") return;
  const auto number_or = [&](const char* key, const std::string& words) {
    const std::string found = s[key].dump();
    if (s[key].is_string() && words.find(found) == std::string::npos)
      throw ConfigError(std::string("strategy.") + key,
                        fmt::format("found {}, expected a number or {}", found, words));
  };
  number_or("depth", "\"all\" or \"fit\"");
  number_or("batches", "\"fit\"");
  const bool sampled = s.contains("sampling");
  if (!sampled && s["degrees"] == "part")
    throw ConfigError("strategy.degrees",
                      "\"part\" goes with strategy.sampling: without it every vertex that is "
                      "computed has all its neighbours");
  if (s["depth"] != "all" && (sampled || s["batches"] != 1))
    throw ConfigError("strategy.depth",
                      "goes with neither strategy.sampling nor strategy.batches: the layers below "
                      "it need the whole graph at once");
  if (s["depth"].is_number() && s["depth"] > root["model"]["layers"])
    throw ConfigError("strategy.depth",
                      fmt::format("found {}, but the model has {} layers", s["depth"].dump(),
                                  root["model"]["layers"].dump()));
  const std::string backend = root["backend"];
  if (sampled && s["sampling"]["redraw"] == "epoch" && (backend == "sim" || backend == "model"))
    throw ConfigError("strategy.sampling.redraw",
                      "\"epoch\" is for real runs: what drawing costs is not known to a "
                      "simulation; use \"run\"");
}

}  // namespace

void prepare_strategy(Json& root) {
  if (!root.contains("strategy") || !root["strategy"].is_object() ||
      root["strategy"].value("type", Json()) != "shared_preloading")
    return;
  if (!root.contains("partition")) root["partition"] = Json::object();
  if (root["partition"].is_object() && !root["partition"].contains("method"))
    root["partition"]["method"] = "metis";
  Json& s = root["strategy"];
  if (s.contains("sampling")) {
    if (!s.contains("evaluate_on")) s["evaluate_on"] = "graph";
  } else if (!s.contains("degrees")) {
    s["degrees"] = "original";
  }
}

void complete_strategy(const Json& root) {
  complete_averaging(root);
  complete_preloading(root);
}

StrategyConfig strategy_config(const Json& s) {
  StrategyConfig config;
  config.type =
      pick<StrategyType>(s["type"], {{"full_graph", StrategyType::full_graph},
                                     {"spmm_1d", StrategyType::spmm_1d},
                                     {"spmm_15d", StrategyType::spmm_15d},
                                     {"spmm_2d", StrategyType::spmm_2d},
                                     {"model_averaging", StrategyType::model_averaging},
                                     {"shared_preloading", StrategyType::shared_preloading}});
  config.overlap = s.value("overlap", true);
  config.permute = s.value("permute", false);
  config.column_tiles = s.value("column_tiles", 1);
  config.replication = s.value("replication", 1);
  config.boundary_sampling = s.value("boundary_sampling", 1.0);
  config.staleness = s.value("staleness", 0);
  config.skip_below = s.value("skip_below", 0.0);
  if (s.contains("variant"))
    config.variant =
        pick<Variant>(s["variant"], {{"row", Variant::row}, {"column", Variant::column}});
  if (s["memory"] == "autograd") config.memory = Memory::autograd;
  config.first_layer = FirstLayer::recompute;  // where there is no choice
  if (s.contains("first_layer"))
    config.first_layer =
        pick<FirstLayer>(s["first_layer"], {{"exact", FirstLayer::exact},
                                            {"recompute", FirstLayer::recompute},
                                            {"mggcn_compat", FirstLayer::mggcn_compat}});
  if (s.contains("degrees"))
    config.degrees =
        pick<Degrees>(s["degrees"], {{"part", Degrees::part}, {"original", Degrees::original}});
  if (s.contains("evaluate_on"))
    config.evaluate_on = pick<EvaluateOn>(
        s["evaluate_on"], {{"parts", EvaluateOn::parts}, {"graph", EvaluateOn::graph}});
  if (config.type == StrategyType::shared_preloading) set_preloading(config, s);
  if (config.type != StrategyType::model_averaging) return config;
  config.averaging = pick<Averaging>(
      s["averaging"], {{"model", Averaging::model}, {"gradient", Averaging::gradient}});
  config.interval = s["interval"];
  config.hops = s["hops"];
  return config;
}

}  // namespace orrery
