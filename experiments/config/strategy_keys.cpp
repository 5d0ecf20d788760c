#include "experiments/config/strategy_keys.hpp"

#include "core/base/error.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "experiments/config/json_settings.hpp"
#include "experiments/config/keys.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Null where the file names no strategy that there is: the schema will say so.
const StrategyInfo* named_in(const Settings& file) {
  for (const StrategyInfo* info : strategy_infos())
    if (file.is("strategy.type", info->name)) return info;
  return nullptr;
}

/// Before defaults are filled in: what the file itself asks for.
void require_possible_first_layer(const JsonSettings& file) {
  if (file.is("model.type", "resgcn+") && file.is("strategy.first_layer", "exact"))
    throw ConfigError("strategy.first_layer",
                      "model.type resgcn+ multiplies its input by weights before the first product "
                      "with A, so that nothing constant is aggregated: leave the key out");
}

/// The same of a model that is one matrix of weights.
void require_possible_sgc(const JsonSettings& file) {
  if (!file.is("model.type", "sgc")) return;
  constexpr int kDefault = 64;  // which a resolved file has
  if (file.integer("model.hidden", kDefault) != kDefault)
    throw ConfigError("model.hidden", "model.type sgc has no hidden layers: leave the key out");
  if (file.is("strategy.memory", "autograd"))
    throw ConfigError("strategy.memory",
                      "what a framework keeps of model.type sgc is not known here: use \"lean\"");
}

}  // namespace

void prepare_strategy(Json& root) {
  const JsonSettings file(root);
  require_possible_first_layer(file);
  require_possible_sgc(file);
  const StrategyInfo* info = named_in(file);
  if (info == nullptr || info->defaults == nullptr) return;
  for (const auto& [path, value] : info->defaults(file)) {
    const std::string room(path.substr(0, path.find('.'))), key(path.substr(path.find('.') + 1));
    if (!root.contains(room)) root[room] = Json::object();
    if (root[room].is_object() && !root[room].contains(key)) root[room][key] = std::string(value);
  }
}

void complete_strategy(Json& root) {
  Json& strategy = root["strategy"];
  if (root["model"]["type"] == "resgcn+" && strategy.contains("first_layer") &&
      strategy["first_layer"] == "exact")
    strategy["first_layer"] = "recompute";  // the default, which this model cannot honour
  const JsonSettings file(root);
  const StrategyInfo* info = named_in(file);
  if (info != nullptr && info->require_sound != nullptr) info->require_sound(file);
}

StrategyConfig strategy_config(const Json& root) {
  const Json& s = root["strategy"];
  StrategyConfig config;
  config.type = s["type"];
  config.overlap = s.value("overlap", true);
  config.permute = s.value("permute", false);
  config.column_tiles = s.value("column_tiles", 1);
  if (s["memory"] == "autograd") config.memory = Memory::autograd;
  config.first_layer = FirstLayer::recompute;  // where there is no choice
  if (s.contains("first_layer"))
    config.first_layer =
        pick<FirstLayer>(s["first_layer"], {{"exact", FirstLayer::exact},
                                            {"recompute", FirstLayer::recompute},
                                            {"mggcn_compat", FirstLayer::mggcn_compat}});
  if (const auto read = info_of(config).read) read(JsonSettings(root), config);
  return config;
}

}  // namespace orrery
