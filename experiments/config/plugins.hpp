// What was added from outside (Meson's option `plugins`) as experiment files know it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/model/layer_type.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/strategy/config/strategy_info.hpp"

namespace orrery {

/// The experiment schema and what these methods, layers and strategies add to it, but for those it
/// has: names to partition.method, model.type and strategy.type, keys for the methods' numbers. A method may share a number
/// of the schema that has no default of its own (balance).
///
/// Errors    ConfigError: a number with the key of something else
nlohmann::ordered_json with_plugins(nlohmann::ordered_json schema,
                                    const std::vector<Partitioner>& methods,
                                    const std::vector<LayerType>& layers,
                                    const std::vector<const StrategyInfo*>& strategies);

/// The numbers among the keys of "partition" that the method has from outside.
///
/// Errors    ConfigError: out of the range that the method states
std::map<std::string, double> numbers_of(const std::string& method,
                                         const nlohmann::ordered_json& partition);

/// A line for each partitioner, layer and strategy from outside, for people; empty where there are none.
///
/// Errors    ConfigError: two of one name, and others of partitioners(), layer_types() and
///           strategy_infos()
std::string plugin_lines();

}  // namespace orrery
