// Weights for an inference: from a file, or trained first.
#pragma once

#include <memory>
#include <optional>

#include "core/inference/layer_stack.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// The weights that `experiment.weights` names, a checkpoint or the folder of one; on all ranks.
///
/// Errors    ConfigError (nothing there; another model) · DataError (damaged)
std::shared_ptr<const TrainedWeights> read_weights(const Experiment& experiment, const Job& job);

/// The checksum of weights: what is computed with them depends on it.
std::string checksum_of(const TrainedWeights& weights);

/// Trains the model as the experiment says, or goes on with its training (options.resume), keeps its result and checkpoint in `folder` (on the
/// process that leads), and returns what it has learned.
///
/// Errors    as Runner::run; Error where it was interrupted or diverged
std::shared_ptr<const TrainedWeights> train_weights(const Experiment& experiment,
                                                    const std::filesystem::path& folder,
                                                    const Runner::Options& options, const Job& job);

}  // namespace orrery
