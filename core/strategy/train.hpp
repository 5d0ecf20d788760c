// The training loop: what every rank does from loading its data to the last epoch, whatever the
// strategy.
#pragma once

#include <optional>

#include "core/strategy/strategy.hpp"

namespace orrery {

/// Micro-F1 of each split (for single labels the accuracy): fractions in [0, 1]; nothing for a
/// split without vertices.
struct Accuracies {
  std::optional<double> train, validation, test;
};

struct EpochReport {
  int epoch = 0;  ///< from 0
  std::optional<double>
      loss;  ///< training loss before the epoch's (last) update; nothing without values
  std::optional<Accuracies>
      scores;  ///< after the update; nothing where the epoch was not evaluated, or without values
};

/// Told about every epoch, on every rank, after the epoch's time has ended.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Returns false to stop training; all ranks must be answered alike.
  virtual bool epoch_done(const EpochReport& report) = 0;
};

/// Trains on this rank. Needs features, labels and a split.
///
/// The loss is averaged over the training vertices of the whole graph; evaluation is an exact
/// forward pass without dropout, outside the epoch's time. Errors    ConfigError (no features,
/// labels, training vertices; loss and labels do not fit) and whatever the runtime throws
void train(Runtime& rt, const StrategyPlan& plan, const Problem& problem, TrainObserver& observer);

/// The checks of train() that need no runtime, so that a user's mistake is told before anything
/// starts.
void require_trainable(const Problem& problem);

}  // namespace orrery
