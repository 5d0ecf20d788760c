// The list of strategies.
#include <fmt/core.h>

#include <array>
#include <deque>

#include "core/base/error.hpp"
#include "core/base/name.hpp"
#include "core/strategy/config/strategy_info.hpp"

namespace orrery {

// Each is defined in the file of that name.
extern const StrategyInfo kFullGraph, kSpmm1d, kSpmm15d, kSpmm2d, kModelAveraging,
    kSharedPreloading, kMiniBatch, kVertexCut;

namespace {

constexpr std::array kStrategies{&kFullGraph, &kSpmm1d,         &kSpmm15d,          &kSpmm2d,
                                 &kVertexCut, &kModelAveraging, &kSharedPreloading, &kMiniBatch};

/// Strategies from outside; their addresses stay valid.
std::deque<StrategyInfo>& added_strategies() {
  static std::deque<StrategyInfo> strategies;
  return strategies;
}

std::vector<const StrategyInfo*> with_added() {
  std::vector<const StrategyInfo*> all(kStrategies.begin(), kStrategies.end());
  for (const StrategyInfo& added : added_strategies()) {
    const auto refuse = [&](const std::string& why) {
      throw ConfigError("plugins", fmt::format("\"{}\" {}", added.name, why));
    };
    if (!is_name(added.name)) refuse(fmt::format("is no name: {}", kNameRule));
    if (added.make == nullptr) refuse("has no function that makes it");
    for (const StrategyInfo* known : all)
      if (known->name == added.name) refuse("is the name of two strategies: rename one");
    all.push_back(&added);
  }
  return all;
}

}  // namespace

AddStrategy::AddStrategy(StrategyInfo strategy) {
  added_strategies().push_back(std::move(strategy));
}

const std::vector<const StrategyInfo*>& strategy_infos() {
  static const std::vector<const StrategyInfo*> all = with_added();
  return all;
}

std::size_t built_in_strategies() { return kStrategies.size(); }

}  // namespace orrery
