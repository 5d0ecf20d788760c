// Turns the results of ranks into the numbers of a result: epoch time, its parts, bytes, memory,
// accuracy.
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
  /// there are others. With an even number of epochs it is the lower of the two middle ones, so
  /// that it is a real epoch and `breakdown` adds up to it.
  double epoch_seconds = 0;
  /// Parts of that epoch, on the rank that worked most of those that took longest (within 2 %): the others
  /// waited for it.
  Breakdown breakdown;
  /// Mean over the last epochs that form whole periods of the strategy, whose epochs may differ in
  /// what they send, without the first epoch; over all epochs if they are too few.
  double mean_epoch_seconds = 0;
  /// Seconds of averaging gradients or models, over all epochs: in each on the rank that waited
  /// least.
  double synchronise_seconds = 0;
  double internal_bytes = 0,
         external_bytes = 0;  ///< received per epoch, summed over ranks, flat collectives
  std::vector<std::int64_t> peak_bytes;               ///< device bytes of each rank
  std::map<std::string, std::int64_t> peak_by_class;  ///< of the first rank with the largest peak
  std::vector<double> seconds;                        ///< of each epoch, slowest rank
  std::vector<EpochCost> ranks;  ///< that epoch on every rank (or on one, if no more is known)
};

/// `costs` of each rank's epochs, the same number for every rank; `summaries` of the recorded
/// programs.
Measurement measure(const std::vector<std::vector<EpochCost>>& costs,
                    const std::vector<Summary>& summaries);

/// The report of the best epoch (note_epoch); without validation vertices the last evaluated one.
/// Nothing if no epoch was evaluated.
std::optional<EpochReport> best_epoch(const std::vector<EpochReport>& epochs,
                                      BestBy by = BestBy::accuracy);

}  // namespace orrery
