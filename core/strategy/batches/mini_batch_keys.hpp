// The keys of mini_batch in an experiment file: which go together, and what they say.
#pragma once

#include <optional>
#include <string>

#include "core/model/model_config.hpp"
#include "core/strategy/config/settings.hpp"
#include "core/strategy/config/strategy_config.hpp"

namespace orrery {

/// Refuses keys that contradict each other.
///
/// Errors    ConfigError
void require_sound_mini_batch(const Settings& file);

/// Sets config.own to the MiniBatchSettings of a file, and config.learned.
void read_mini_batch(const Settings& file, StrategyConfig& config);

/// Refuses settings that do not go with the model.
///
/// Errors    ConfigError
void require_possible_batches(const StrategyConfig& config, const ModelConfig& model);

/// In what batches differ from training on the whole graph; nothing if all neighbours are drawn.
std::optional<std::string> inexactness_of_mini_batch(const StrategyConfig& config);

}  // namespace orrery
