// What an experiment file says under "strategy".
#pragma once

#include <nlohmann/json.hpp>

#include "core/strategy/config/strategy_config.hpp"

namespace orrery {

/// Defaults that a strategy has of its own, before those of the schema are filled in.
void prepare_strategy(nlohmann::ordered_json& root);

/// Combinations that the schema cannot express.
///
/// Errors    ConfigError
void complete_strategy(nlohmann::ordered_json& root);

/// Of a file with every default filled in; what the cluster says of the strategy is not in it yet.
StrategyConfig strategy_config(const nlohmann::ordered_json& root);

/// Of an experiment's strategy, partition and cluster what the learned weights depend on (see
/// LearnsFrom): nothing of whole-graph training.
nlohmann::ordered_json learned_from(const nlohmann::ordered_json& root);

}  // namespace orrery
