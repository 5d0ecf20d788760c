#include "experiments/predict/strategy_volumes.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/strategy/train/train.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/recorded.hpp"

namespace orrery {
namespace {

constexpr int kMostRanks = 64;  ///< recording more takes longer than anybody waits for a cut

StrategyVolume volume_of(const Experiment& experiment, const std::shared_ptr<const Dataset>& data,
                         const Partition& cut) {
  StrategyVolume volume;
  volume.strategy = experiment.label.empty()
                        ? experiment.resolved["strategy"]["type"].get<std::string>()
                        : experiment.label;
  try {
    ProblemData whole;
    whole.data = data;
    Problem problem = make_problem(experiment, whole, cut);
    problem.strategy.parts = cut.parts;
    problem.strategy.workers = 0;  // one for each part
    require_trainable(problem);
    volume.ranks = problem.ranks();
    if (volume.ranks > kMostRanks)
      throw ConfigError("strategy", fmt::format("{} ranks; only up to {} are recorded here",
                                                volume.ranks, kMostRanks));
    const auto plan = make_strategy(problem);
    const int period = period_of(problem.strategy, problem.train.epochs);
    double bytes = 0;  // whoever shares a server: the sum is the same
    for (const Summary& rank :
         summaries(record_checked(*plan, problem), *plan, Placement{}, period)) {
      const auto sum = rank.epoch.sum();
      bytes += sum.internal + sum.external;
    }
    volume.bytes = bytes / period;
  } catch (const ConfigError& error) {
    volume.why_not = error.what();
  }
  return volume;
}

}  // namespace

std::vector<StrategyVolume> strategy_volumes(const std::vector<Experiment>& experiments,
                                             const std::shared_ptr<const Dataset>& data,
                                             const Partition& cut) {
  std::vector<StrategyVolume> volumes;
  for (const Experiment& experiment : experiments)
    volumes.push_back(volume_of(experiment, data, cut));
  return volumes;
}

}  // namespace orrery
