#include "experiments/config/strategy_keys.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/error.hpp"
#include "core/model/layer_type.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "experiments/config/json_settings.hpp"
#include "experiments/config/keys.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Null if the file names no known strategy: the schema will report it.
const StrategyInfo* named_in(const Settings& file) {
  for (const StrategyInfo* info : strategy_infos())
    if (file.is("strategy.type", info->name)) return info;
  return nullptr;
}

/// Types of models whose first layer keeps nothing of a constant input, and why.
struct KeepsNothing {
  std::string_view type, why;
};
constexpr std::string_view kWeightsFirst =
    "multiplies its input by weights before it aggregates, so nothing constant is aggregated";
constexpr std::array kKeepNothing{
    KeepsNothing{"gat", kWeightsFirst}, KeepsNothing{"sage-pool", kWeightsFirst},
    KeepsNothing{"resgcn+", kWeightsFirst}, KeepsNothing{"rgat", kWeightsFirst},
    KeepsNothing{"rgcn", "makes the means of each relation anew in every epoch"}};

/// Before defaults are filled in: what the file itself asks for.
void require_possible_first_layer(const JsonSettings& file) {
  for (const auto& [type, why] : kKeepNothing)
    if (file.is("model.type", type) && file.is("strategy.first_layer", "exact"))
      throw ConfigError("strategy.first_layer",
                        fmt::format("model.type {} {}: leave the key out", type, why));
}

/// The same for a model with a single matrix of weights.
void require_possible_sgc(const JsonSettings& file) {
  if (!file.is("model.type", "sgc")) return;
  constexpr int kDefault = 64;  // which a resolved file has
  if (file.integer("model.hidden", kDefault) != kDefault)
    throw ConfigError("model.hidden", "model.type sgc has no hidden layers: leave the key out");
  if (file.is("strategy.memory", "autograd"))
    throw ConfigError("strategy.memory",
                      "the tape of model.type sgc is not modelled: use \"lean\"");
}

/// The same for layers that weigh their edges themselves.
void require_possible_attention(const JsonSettings& file) {
  const auto& layers = layer_types();
  const auto layer = std::find_if(layers.begin(), layers.end(), [&](const LayerType& each) {
    return each.weighs_edges && file.is("model.type", each.name);
  });
  if (layer == layers.end()) return;
  const ModelConfig defaults;  // which a resolved file has
  if (file.integer("model.layers", defaults.layers) == 1 &&
      file.integer("model.heads", defaults.heads) != defaults.heads)
    throw ConfigError("model.heads",
                      "applies to every layer but the last, and model.layers is 1: leave the key "
                      "out; model.output_heads sets the heads of the last layer");
  // For shared_preloading without sampling "original" means all neighbours, and is the default.
  if (file.is("strategy.degrees", "original") &&
      (!file.is("strategy.type", "shared_preloading") || file.has("strategy.sampling")))
    throw ConfigError("strategy.degrees",
                      fmt::format("normalises a matrix by degrees, but model.type {} works on "
                                  "edges one by one: leave the key out",
                                  layer->name));
}

}  // namespace

void prepare_strategy(Json& root) {
  const JsonSettings file(root);
  require_possible_first_layer(file);
  require_possible_sgc(file);
  require_possible_attention(file);
  const StrategyInfo* info = named_in(file);
  if (info == nullptr || info->defaults == nullptr) return;
  for (const auto& [path, value] : info->defaults(file)) {
    const std::string room(path.substr(0, path.find('.'))), key(path.substr(path.find('.') + 1));
    if (room == "partition" && file.has("dataset.parts")) continue;  // they are cut already
    if (!root.contains(room)) root[room] = Json::object();
    if (root[room].is_object() && !root[room].contains(key)) root[room][key] = std::string(value);
  }
}

void complete_strategy(Json& root) {
  Json& strategy = root["strategy"];
  const Json& type = root["model"]["type"];
  const bool keeps_nothing =
      std::any_of(kKeepNothing.begin(), kKeepNothing.end(),
                  [&](const KeepsNothing& each) { return type == std::string(each.type); });
  if (keeps_nothing && strategy.contains("first_layer") && strategy["first_layer"] == "exact")
    strategy["first_layer"] = "recompute";  // the default, which these models cannot honour
  const JsonSettings file(root);
  const StrategyInfo* info = named_in(file);
  if (info != nullptr && info->require_sound != nullptr) info->require_sound(file);
}

StrategyConfig strategy_config(const Json& root) {
  const JsonSettings file(root);
  StrategyConfig config;
  config.type = file.text("strategy.type").value_or("");
  config.overlap = file.flag("strategy.overlap").value_or(true);
  config.permute = file.flag("strategy.permute").value_or(false);
  config.column_tiles = file.integer("strategy.column_tiles", 1);
  if (file.is("strategy.memory", "autograd")) config.memory = Memory::autograd;
  config.first_layer = file.choice<FirstLayer>("strategy.first_layer",
                                               {{"exact", FirstLayer::exact},
                                                {"recompute", FirstLayer::recompute},
                                                {"mggcn_compat", FirstLayer::mggcn_compat}},
                                               FirstLayer::recompute);  // if there is no choice
  if (const auto read = info_of(config).read) read(file, config);
  return config;
}

Json learned_from(const Json& root) {
  const StrategyConfig strategy = strategy_config(root);
  const LearnsFrom from = learns_from(strategy);
  Json all = Json::object();
  if (from == LearnsFrom::data) {
    for (const char* key : {"learn_features", "learned_types", "features_rate"})
      if (strategy.learned && root["strategy"].contains(key))
        all["strategy"][key] = root["strategy"][key];
    return all;
  }
  all["strategy"] = root["strategy"];
  for (const char* key :
       {"evaluate_on", "column_tiles", "overlap", "memory", "cache", "pipeline", "relabel"})
    all["strategy"].erase(key);
  if (strategy.first_layer != FirstLayer::mggcn_compat) all["strategy"].erase("first_layer");
  if (from == LearnsFrom::settings) return all;
  all["partition"] = root.value("partition", Json::object());
  all["partition"].erase("working_bytes");  // it is in the number of parts
  const StrategyInfo& info = info_of(strategy);
  const Json cluster = root.value("cluster", Json::object());
  const auto keep = [&](const char* key) {
    if (cluster.contains(key)) all["cluster"][key] = cluster[key];
  };
  // The content of one step, or what its ranks draw.
  if (!info.deals_parts || strategy.averaging == Averaging::gradient)
    for (const char* key : {"ranks", "file", "gpus"}) keep(key);
  if (info.by_server)
    for (const char* key : {"servers", "ranks_per_server", "gpus_per_server"}) keep(key);
  return all;
}

}  // namespace orrery
