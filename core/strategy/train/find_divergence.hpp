// Where a training went wrong whose loss is no finite number any more.
#pragma once

#include <vector>

#include "core/model/parameters.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// Looks through the gradients of all layers, or through their weights: those of local models, whose
/// gradients make room for the average. Waits for what was issued, and takes the values to the host,
/// which a run whose losses are finite never does. Nothing where there are no values.
///
/// `layers`: the first parameter of each, in order; `lowest`: the number of the first layer.
Divergence find_divergence(Runtime& rt, const Parameters& parameters, Divergence::Of of,
                           const std::vector<int>& layers, int lowest);

}  // namespace orrery
