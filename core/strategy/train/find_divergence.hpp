// Where a training went wrong whose loss is no finite number any more.
#pragma once

#include "core/model/parameters.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// Looks through the gradients of all layers, or through their weights and running averages: those of
/// local models, whose gradients make room for the average, and those that a last update left. Waits
/// for what was issued, and takes the values to the host. Nothing where there are no values.
Divergence find_divergence(Runtime& rt, const Parameters& parameters, Divergence::Of of);

}  // namespace orrery
