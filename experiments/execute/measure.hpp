// From what the ranks leave behind to the numbers of a result: epoch time, its parts, bytes,
// memory, accuracy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/body.hpp"
#include "core/runtime/summary.hpp"
#include "core/runtime/timeline.hpp"

namespace orrery {

struct Measurement {
  /// Median over epochs of the slowest rank's seconds, without the first epoch (which warms up) if
  /// there are others. With an even number of epochs the lower of the two middle ones, so that it
  /// is an epoch that happened and `breakdown` sums to it.
  double epoch_seconds = 0;
  Breakdown breakdown;  ///< of that epoch, on its slowest rank
  /// Mean over the last epochs that are whole periods of the strategy, whose epochs may differ in
  /// what they send, without the first epoch; over all epochs where they are too few.
  double mean_epoch_seconds = 0;
  /// Of averaging gradients or models, over all epochs: in each on the rank that waited least.
  double synchronise_seconds = 0;
  double internal_bytes = 0,
         external_bytes = 0;  ///< received per epoch, summed over ranks, flat collectives
  std::vector<std::int64_t> peak_bytes;               ///< device bytes of each rank
  std::map<std::string, std::int64_t> peak_by_class;  ///< of the first rank with the largest peak
  std::vector<double> seconds;                        ///< of each epoch, slowest rank
  std::vector<EpochCost> ranks;  ///< that epoch on every rank (on one only, where no more is known)
};

/// `costs` of each rank's epochs, as many for every rank; `summaries` of the recorded programs.
Measurement measure(const std::vector<std::vector<EpochCost>>& costs,
                    const std::vector<Summary>& summaries);

/// The report with the highest validation accuracy (the first of equals; without validation
/// vertices the last evaluated one). Nothing where no epoch was evaluated.
std::optional<EpochReport> best_epoch(const std::vector<EpochReport>& epochs);

}  // namespace orrery
