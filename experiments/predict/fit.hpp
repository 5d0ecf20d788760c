// What an experiment derives from the device memory: how deep a server preloads, and into how many
// co-batches its vertices are cut.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/strategy/strategy.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// Device memory of the rank that needs most: the peak of its recorded program.
std::int64_t forecast_bytes(const Problem& problem, const Placement& placement);

/// The experiment with numbers where it says "fit", also in `problem`: the largest strategy.depth,
/// or the smallest strategy.batches, for which every rank's forecast (the peak of its recorded
/// program) is within its device memory; or the largest strategy.batch (largest_batch). If it throws,
/// `problem` has the last numbers that it tried.
///
/// Departs   the number of batches is searched between one that fits and its half that does not:
///           that fewer never need less is assumed of the cuts that METIS makes
/// Cost      a recording of all ranks for every tried number
/// Errors    ConfigError: the device memory is not known; nothing fits, by how many bytes
Experiment fit_to_memory(const Experiment& experiment, Problem& problem);

/// The keys whose numbers fit_to_memory() found, with these: {"strategy.batch": 512}; {} if none were
/// asked for.
nlohmann::ordered_json fitted_numbers(const Experiment& fitted);

/// The same in words, a line each.
std::vector<std::string> fitted_notes(const Experiment& fitted);

}  // namespace orrery
