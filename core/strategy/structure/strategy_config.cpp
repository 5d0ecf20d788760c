#include "core/strategy/structure/strategy_config.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace orrery {
namespace {

/// A replication c needs whole columns of the grid (c divides the ranks) and at least one stage in
/// each of them (c² <= ranks).
bool possible(int replication, int ranks) {
  return ranks % replication == 0 && static_cast<std::int64_t>(replication) * replication <= ranks;
}

void require_replication(int replication, int ranks) {
  if (replication >= 1 && possible(replication, ranks)) return;
  std::vector<int> choices;
  for (int c = 1; c * c <= ranks; ++c)
    if (possible(c, ranks)) choices.push_back(c);
  throw ConfigError("strategy.replication",
                    fmt::format("{} on {} ranks: it must divide them and its square must not "
                                "exceed them; possible with {} ranks: {}",
                                replication, ranks, ranks, fmt::join(choices, ", ")));
}

int side_of(int ranks) {
  const int side = static_cast<int>(std::lround(std::sqrt(ranks)));
  if (side * side == ranks) return side;
  const int below = static_cast<int>(std::sqrt(ranks));
  throw ConfigError("strategy.type",
                    fmt::format("spmm_2d needs a square number of ranks, found {}; the nearest are "
                                "{} ({} x {}) and {} ({} x {})",
                                ranks, below * below, below, below, (below + 1) * (below + 1),
                                below + 1, below + 1));
}

}  // namespace

void require_possible_staleness(const StrategyConfig& strategy, const ModelConfig& model) {
  if (strategy.staleness == 0 && strategy.skip_below > 0)
    throw ConfigError("strategy.skip_below",
                      "says which rows are not sent again; how often in a row that may happen is "
                      "strategy.staleness, which is 0");
  if (strategy.staleness == 0) return;
  const auto refuse = [](const std::string& why) { throw ConfigError("strategy.staleness", why); };
  if (strategy.variant == Variant::column)
    refuse(
        "the column variant sums contributions at their owner and receives no rows that could be "
        "used again: use variant \"row\"");
  if (strategy.type != StrategyType::full_graph) return;
  if (strategy.staleness > 1)
    refuse(
        "full_graph sends its halo in every epoch, so its rows are 1 epoch old at most; a larger "
        "bound is for spmm_1d");
  if (strategy.boundary_sampling < 1)
    refuse(
        "rows that were received in the last epoch are not those that this epoch's "
        "strategy.boundary_sampling draws: choose one of the two");
  if (model.recompute > 0)
    refuse(
        "what model.recompute computes again would use other halo rows than the first time: set "
        "one of the two to 0");
}

int parts_for(const StrategyConfig& strategy, int ranks) {
  switch (strategy.type) {
    case StrategyType::full_graph:
    case StrategyType::spmm_1d:
      return ranks;
    case StrategyType::spmm_15d:
      require_replication(strategy.replication, ranks);
      return ranks / strategy.replication;
    case StrategyType::spmm_2d:
      return side_of(ranks);
    case StrategyType::shared_preloading:
      if (ranks % strategy.ranks_per_server != 0)
        throw ConfigError("cluster", fmt::format("{} ranks are no servers of {} ranks each", ranks,
                                                 strategy.ranks_per_server));
      return ranks / strategy.ranks_per_server;
    case StrategyType::model_averaging:
      return strategy.parts > 0 ? strategy.parts : ranks;
  }
  return ranks;
}

int ranks_for(const StrategyConfig& strategy, int parts) {
  switch (strategy.type) {
    case StrategyType::full_graph:
    case StrategyType::spmm_1d:
      return parts;
    case StrategyType::spmm_15d:
      return parts * strategy.replication;
    case StrategyType::spmm_2d:
      return parts * parts;
    case StrategyType::shared_preloading:
      return parts * strategy.ranks_per_server;
    case StrategyType::model_averaging:
      return strategy.workers > 0 ? strategy.workers : parts;
  }
  return parts;
}

int period_of(const StrategyConfig& strategy, int epochs) {
  const bool local_models =
      strategy.type == StrategyType::model_averaging && strategy.averaging == Averaging::model;
  if (local_models) return std::min(strategy.interval, epochs);
  if (strategy.type != StrategyType::spmm_1d || strategy.skip_below > 0) return 1;
  return std::min(strategy.staleness + 1, epochs);
}

}  // namespace orrery
