// What the planner says, for people and as JSON: every way by `orrery infer --plan`, and the first
// one beside an inference that ran in its own way.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

/// Prints every way to lay the inference out on the experiment's ranks, the best first; with
/// backend sim, the first ones with their simulated seconds.
///
/// Errors    as load_inference(); with backend sim as simulate()
void print_inference_plan(const Experiment& experiment, bool json);

/// result.json's "fewest_bytes": the first of these ways, and the bytes of the one that ran. Null if
/// counting all of them would take long, if this process lacks edges, or if it fails.
///
/// Shapes    counted: of all layers, by rank
/// Cost      0.3 s at most on two idle cores
nlohmann::ordered_json fewest_bytes(const Experiment& experiment, const InferenceProblem& ran,
                                    const RankStages& counted);

/// The same as a line; empty for null.
std::string fewest_bytes_text(const nlohmann::ordered_json& result);

}  // namespace orrery
