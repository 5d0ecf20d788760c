// Weights for an inference: from a file, or trained first.
#pragma once

#include <memory>
#include <optional>

#include "core/inference/layer_stack.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// The weights that `experiment.weights` names (a checkpoint or its folder), on all ranks.
///
/// Errors    ConfigError (nothing there; another model) · DataError (damaged)
std::shared_ptr<const TrainedWeights> read_weights(const Experiment& experiment, const Job& job);

/// The checksum of weights: the computed values depend on it.
std::string checksum_of(const TrainedWeights& weights);

/// Trains the model of the experiment, or continues its training (options.resume), keeps its result
/// and checkpoint in `folder` (on the leading process), and returns the trained weights.
///
/// Errors    as Runner::run; Error if it was interrupted or diverged
std::shared_ptr<const TrainedWeights> train_weights(const Experiment& experiment,
                                                    const std::filesystem::path& folder,
                                                    const Runner::Options& options, const Job& job);

}  // namespace orrery
