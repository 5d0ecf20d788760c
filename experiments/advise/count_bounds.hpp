// Lower bounds of the time of a plan's epoch, by counts alone: before anything is cut or recorded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ops/ops.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"
#include "sim/price/profile.hpp"

namespace orrery {

/// Bounds of plans of one data set and one training; those of the same model, order and ranks share
/// what they need.
class CountBounds {
 public:
  /// A lower bound of every epoch but the first, in seconds; 0 for strategies that do not compute
  /// what whole-graph training computes.
  ///
  /// The ranks together do at least the products of one rank that trains on the whole graph (which is recorded once for each order of a layer), at the best rate that the profile has for
  /// them (sim/price/least_seconds.hpp), and the busiest does its share. spmm_1d also brings to every
  /// rank, and into every server, all rows of each product but those that are there: (P − 1)/P · n
  /// rows on average, at what its links bring together (CAGNET, 1D; MG-GCN 5.1).
  ///
  /// Errors    those of loading the data; ConfigError of profiles and models
  double least_epoch_seconds(const Experiment& plan, const ProblemData& data);

 private:
  /// The products on one rank, of an epoch in which they are fewest.
  const std::vector<Op>& operations_of(const Experiment& plan, const ProblemData& data);
  const sim::DeviceProfile& profile_of_devices(const Experiment& plan);

  std::map<std::string, std::vector<Op>> operations_;  ///< by the file of one rank
  std::map<std::string, sim::DeviceProfile> profiles_;
};

}  // namespace orrery
