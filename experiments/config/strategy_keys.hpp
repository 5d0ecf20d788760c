// The key "strategy" of an experiment file.
#pragma once

#include <nlohmann/json.hpp>

#include "core/strategy/config/strategy_config.hpp"

namespace orrery {

/// Defaults of a strategy, before those of the schema are filled in.
void prepare_strategy(nlohmann::ordered_json& root);

/// Combinations that the schema cannot express.
///
/// Errors    ConfigError
void complete_strategy(nlohmann::ordered_json& root);

/// For a file with all defaults; what the cluster adds to the strategy is not included yet.
StrategyConfig strategy_config(const nlohmann::ordered_json& root);

/// The keys of an experiment's strategy, partition and cluster on which the learned weights depend
/// (see LearnsFrom): for whole-graph training whether features are learned, and which.
nlohmann::ordered_json learned_from(const nlohmann::ordered_json& root);

}  // namespace orrery
