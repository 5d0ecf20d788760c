// `orrery infer --plan`, for people and as JSON.
#pragma once

#include "experiments/config/experiment.hpp"

namespace orrery {

/// Prints every way to lay the inference out on the experiment's ranks, the best first; with
/// backend sim, the first ones with their simulated seconds.
///
/// Errors    as load_inference(); with backend sim as simulate()
void print_inference_plan(const Experiment& experiment, bool json);

}  // namespace orrery
