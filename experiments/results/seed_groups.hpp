// Runs that differ in their seed alone, as means with their deviations.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/results/run_report.hpp"

namespace orrery {

/// A list with an object for every combination of the other swept keys that has several seeds:
/// "settings", "runs", and {"mean", "std"} of each number that all its runs have: accuracies, loss, seconds
/// of an epoch, scores of the test vertices. "std" is the sample standard deviation.
nlohmann::ordered_json over_seeds(const std::vector<FinishedRun>& runs);

/// The same, a line each; empty where no combination has several seeds.
std::string seeds_text(const std::vector<FinishedRun>& runs);

}  // namespace orrery
