// What the strategies of a model would move over a cut.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/partition/partition.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// Bytes that all ranks together receive in one epoch: logical bytes, flat collectives, as `orrery
/// plan` counts them.
struct StrategyVolume {
  std::string strategy;
  int ranks = 0;
  std::optional<double> bytes;  ///< nothing: it cannot use this cut
  std::string why_not;          ///< then the reason in one line
};

/// The volume of each experiment over the cut, from the programs that its ranks would run, recorded
/// and checked.
///
/// Requires  experiments with one data set
std::vector<StrategyVolume> strategy_volumes(const std::vector<Experiment>& experiments,
                                             const std::shared_ptr<const Dataset>& data,
                                             const Partition& cut);

}  // namespace orrery
