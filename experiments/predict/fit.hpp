// What an experiment leaves to the device memory: how deep a server preloads, into how many
// co-batches its vertices are cut.
#pragma once

#include "core/strategy/strategy.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// Device memory of the rank that needs most: the peak of its recorded program.
std::int64_t forecast_bytes(const Problem& problem, const Placement& placement);

/// The experiment with numbers where it says "fit", and these in `problem` too: the largest
/// strategy.depth, the smallest strategy.batches of which every rank's forecast (the peak of its
/// recorded program) is within its device memory. Where it throws, `problem` is left with what it
/// tried last.
///
/// Departs   a number of batches is looked for between one that fits and its half that does not:
///           that fewer never need less is assumed of the cuts that METIS makes
/// Cost      a recording of all ranks for every number that is tried
/// Errors    ConfigError: the device memory is not known; nothing fits, by how many bytes
Experiment fit_to_memory(const Experiment& experiment, Problem& problem);

}  // namespace orrery
