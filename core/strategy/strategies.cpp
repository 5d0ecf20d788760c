// The list of strategies.
#include <array>

#include "core/strategy/structure/strategy_info.hpp"

namespace orrery {

// Each in the file of that name.
extern const StrategyInfo kFullGraph, kSpmm1d, kSpmm15d, kSpmm2d, kModelAveraging,
    kSharedPreloading;

std::span<const StrategyInfo* const> strategy_infos() {
  static constexpr std::array kStrategies{&kFullGraph, &kSpmm1d,         &kSpmm15d,
                                          &kSpmm2d,    &kModelAveraging, &kSharedPreloading};
  return kStrategies;
}

}  // namespace orrery
