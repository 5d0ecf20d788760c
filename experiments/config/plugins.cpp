#include "experiments/config/plugins.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/error.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Adds the name to an enum of the schema, with its description; whether it was not there before.
bool add_name(Json& key, const std::string& name, const std::string& description) {
  Json& names = key["enum"];
  if (std::find(names.begin(), names.end(), name) != names.end()) return false;
  names.push_back(name);
  key["description"] =
      fmt::format("{}; {}: {}", key["description"].get<std::string>(), name, description);
  return true;
}

/// Adds a method's number to the keys of "partition".
void add_number(Json& keys, const std::string& method, const MethodParameter& parameter) {
  const std::string& name = parameter.name;
  if (!keys.contains(name)) {
    keys[name] = {{"type", "number"},
                  {"minimum", parameter.key->least},
                  {"maximum", parameter.key->most},
                  {"default", parameter.key->fallback},
                  {"x-when", {{"method", Json::array({method})}}},
                  {"description", parameter.key->description}};
    return;
  }
  Json& known = keys[name];
  if (known["type"] != "number" || !known.contains("x-when") ||
      !known["x-when"].contains("method") || known.contains("default"))
    throw ConfigError("plugins", fmt::format("the partitioner \"{}\" cannot have a parameter "
                                             "\"{}\", because another key has this name: rename "
                                             "it",
                                             method, name));
  known["x-when"]["method"].push_back(method);
}

}  // namespace

Json with_plugins(Json schema, const std::vector<Partitioner>& methods,
                  const std::vector<LayerType>& layers,
                  const std::vector<const StrategyInfo*>& strategies) {
  Json& partition = schema["properties"]["partition"]["properties"];
  for (const Partitioner& method : methods)
    if (add_name(partition["method"], method.name, method.description))
      for (const MethodParameter& parameter : method.parameters)
        if (parameter.key) add_number(partition, method.name, parameter);
  Json& model = schema["properties"]["model"]["properties"];
  for (const LayerType& layer : layers) {
    if (!add_name(model["type"], layer.name, layer.description)) continue;
    std::vector<std::string> keys{"activation", "layer_norm", "batch_norm", "residual"};
    if (layer.sparse_input) keys.emplace_back("sparse_input");
    if (layer.scaling == Scaling::chosen) keys.emplace_back("normalisation");
    for (const std::string& key : keys) model[key]["x-when"]["type"].push_back(layer.name);
  }
  Json& strategy = schema["properties"]["strategy"]["properties"];
  for (const StrategyInfo* info : strategies) {
    const std::string name(info->name);
    if (!add_name(strategy["type"], name, std::string(info->description))) continue;
    for (const std::string_view key : info->keys) {
      Json& known = strategy[std::string(key)];
      if (!known.is_object() || !known.contains("x-when"))
        throw ConfigError("plugins", fmt::format("the strategy \"{}\" cannot have the key "
                                                 "\"{}\": strategies do not share it",
                                                 name, key));
      known["x-when"]["type"].push_back(name);
    }
  }
  return schema;
}

std::map<std::string, double> numbers_of(const std::string& method, const Json& partition) {
  std::map<std::string, double> numbers;
  const Partitioner* found = find_partitioner(method);
  if (found == nullptr) return numbers;
  for (const MethodParameter& parameter : found->parameters) {
    if (!parameter.key || !partition.contains(parameter.name)) continue;
    const double value = partition[parameter.name];
    if (value < parameter.key->least || value > parameter.key->most)
      throw ConfigError("partition." + parameter.name,
                        fmt::format("found {}, expected a value >= {} and <= {} for method {}",
                                    value, parameter.key->least, parameter.key->most, method));
    numbers[parameter.name] = value;
  }
  return numbers;
}

std::string plugin_lines() {
  const auto named = [](const auto& all) {
    std::set<std::string> names;
    for (const auto& each : all) names.insert(each.name);
    return names;
  };
  const auto own_methods = named(with_built_in(std::vector<Partitioner>()));
  const auto own_layers = named(with_built_in(std::vector<LayerType>()));
  std::string lines;
  const auto add = [&](const char* key, const auto& all, const std::set<std::string>& own) {
    for (const auto& each : all)
      if (!own.contains(each.name))
        lines += fmt::format("  {} {:<16} {}\n", key, each.name, each.description);
  };
  add("partition.method", partitioners(), own_methods);
  add("model.type      ", layer_types(), own_layers);
  const auto& strategies = strategy_infos();
  for (std::size_t i = built_in_strategies(); i < strategies.size(); ++i)
    lines += fmt::format("  strategy.type    {:<16} {}\n", strategies[i]->name,
                         strategies[i]->description);
  return lines;
}

}  // namespace orrery
