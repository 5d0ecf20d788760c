// The settings of shared_preloading that are its own.
#pragma once

#include "core/strategy/config/strategy_config.hpp"

namespace orrery {

/// StrategyConfig::own of shared_preloading.
struct PreloadingSettings {
  /// With sampling: the loss is of all training vertices that a server holds, drawn ones among them.
  bool held_targets = false;
};

/// Defaults where none are set.
inline PreloadingSettings preloading_settings(const StrategyConfig& config) {
  const auto* set = std::any_cast<PreloadingSettings>(&config.own);
  return set != nullptr ? *set : PreloadingSettings{};
}

}  // namespace orrery
