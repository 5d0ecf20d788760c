#include "experiments/predict/strategy_volumes.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "experiments/predict/prepared.hpp"

namespace orrery {
namespace {

constexpr int kMostRanks = 64;  ///< recording more takes longer than users wait for a cut

/// The experiment on a cut into any number of parts, with a rank for each.
Experiment on_parts(const Experiment& asked, int parts) {
  Experiment experiment = asked;
  experiment.strategy.parts = parts;
  experiment.strategy.workers = 0;
  experiment.fits_depth = experiment.fits_batches = false;  // with any memory
  experiment.fits_batch = BatchFit::none;
  // A cut alone has no fragments, and what parts hold does not change what is received.
  experiment.strategy.cross_edges = CrossEdges::drop;
  return experiment;
}

StrategyVolume volume_of(const Experiment& asked, const ProblemData& data, const Partition& cut) {
  const Experiment experiment = on_parts(asked, cut.parts);
  StrategyVolume volume;
  volume.strategy = experiment.label.empty()
                        ? experiment.resolved["strategy"]["type"].get<std::string>()
                        : experiment.label;
  try {
    volume.ranks = ranks_for(experiment.strategy, cut.parts);
    if (volume.ranks > kMostRanks)
      throw ConfigError("strategy", fmt::format("{} ranks; only up to {} are recorded here",
                                                volume.ranks, kMostRanks));
    const PreparedExperiment prepared = prepare(experiment, data, cut);
    double bytes = 0;  // whoever shares a server: the sum is the same
    for (const Summary& rank :
         summaries(record_checked(prepared), prepared.body(), Placement{}, prepared.period())) {
      const auto sum = rank.epoch.sum();
      bytes += sum.internal + sum.external;
    }
    volume.bytes = bytes / prepared.period();
  } catch (const ConfigError& error) {
    volume.why_not = error.what();
  }
  return volume;
}

}  // namespace

std::vector<StrategyVolume> strategy_volumes(const std::vector<Experiment>& experiments,
                                             const std::shared_ptr<const Dataset>& data,
                                             const Partition& cut) {
  const ProblemData whole{data, nullptr, std::nullopt};
  std::vector<StrategyVolume> volumes;
  for (const Experiment& experiment : experiments)
    volumes.push_back(volume_of(experiment, whole, cut));
  return volumes;
}

}  // namespace orrery
