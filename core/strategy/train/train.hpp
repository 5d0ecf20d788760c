// The training loop: what every rank does from loading its data to the last epoch, whatever the
// strategy.
#pragma once

#include "core/strategy/strategy.hpp"
#include "core/strategy/train/train_control.hpp"

namespace orrery {

/// Trains on this rank. Needs features, labels and a split.
///
/// The loss is averaged over the training vertices of the whole graph, each at its step; evaluation
/// is a forward pass without dropout, outside the epoch's time, of the average of local models
/// where there are such (Strategy::schedule says on what).
///
/// Errors    ConfigError (no features, labels, training vertices; loss and labels do not fit; a
///           checkpoint of other sizes, or with staleness) and whatever the runtime throws
void train(Runtime& rt, const Strategy& strategy, const Problem& problem, TrainObserver& observer,
           const TrainControl& control = {});

/// Whether what a strategy keeps from epoch to epoch is in a checkpoint.
///
/// Errors    ConfigError
void require_resumable(const StrategyConfig& strategy);

/// The checks of train() that need no runtime, so that a user's mistake is told before anything
/// starts.
void require_trainable(const Problem& problem);

}  // namespace orrery
