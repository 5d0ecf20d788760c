// What was added from outside (Meson's option `plugins`), in experiment files.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/model/layer_type.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/strategy/config/strategy_info.hpp"

namespace orrery {

/// The experiment schema with the additions of these methods, layers and strategies: names in
/// partition.method, model.type and strategy.type, and keys for the methods' parameters. A method
/// may share a number of the schema that has no default of its own (balance).
///
/// Errors    ConfigError: a parameter with the key of something else
nlohmann::ordered_json with_plugins(nlohmann::ordered_json schema,
                                    const std::vector<Partitioner>& methods,
                                    const std::vector<LayerType>& layers,
                                    const std::vector<const StrategyInfo*>& strategies);

/// The numbers among the keys of "partition" that belong to a method from outside.
///
/// Errors    ConfigError: out of the range that the method states
std::map<std::string, double> numbers_of(const std::string& method,
                                         const nlohmann::ordered_json& partition);

/// A readable line for each partitioner, layer and strategy from outside; empty if there are none.
///
/// Errors    ConfigError: two with one name, and those of partitioners(), layer_types() and
///           strategy_infos()
std::string plugin_lines();

}  // namespace orrery
