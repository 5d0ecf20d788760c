// The operations of an inference replayed on described clusters.
#pragma once

#include <nlohmann/json.hpp>

#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

/// The stages of the inference, replayed on the cluster of the experiment. `simulation`: filled in
/// if not null.
///
/// Errors    as simulate()
nlohmann::ordered_json simulate_stages(const InferenceProblem& problem, Experiment experiment,
                                       const RankStages& counted,
                                       nlohmann::ordered_json* simulation);

/// result.json's "simulated_on": on each cluster of simulate_on, or why not.
nlohmann::ordered_json simulate_elsewhere(const InferenceProblem& problem,
                                          const Experiment& experiment, const RankStages& counted,
                                          bool quiet);

}  // namespace orrery
