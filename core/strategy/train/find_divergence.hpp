// Finds where a training went wrong whose loss is not finite.
#pragma once

#include "core/model/parameters.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// Searches the gradients of all layers, or their weights and running averages: for local models,
/// because their average replaces the gradients, and after a last update. Waits for what was
/// issued, and copies the values to the host. Nothing if there are no values.
Divergence find_divergence(Runtime& rt, const Parameters& parameters, Divergence::Of of);

}  // namespace orrery
