// Backend model: the papers' equations for an experiment, and an epoch time made of them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/runtime/timeline.hpp"
#include "experiments/execute/execute.hpp"
#include "experiments/predict/prepared.hpp"
#include "sim/price/profile.hpp"

namespace orrery {

/// Inputs of the equations.
struct ModelInput {
  const PreparedExperiment& prepared;  ///< with a cluster
  const Programs& programs;
  std::function<double(const Op&, int rank)> kernel_seconds;
  sim::Library library;  ///< software's time of a message; copies between ranks of one device
};

/// `breakdown` sums to the epoch. `equations` holds an object each: "name", "source", "seconds" or
/// "bytes" per epoch (or "all_reduces" of the run, or a "ratio"), and "applies_because"; or
/// "does_not_apply_because".
struct ModelOutcome {
  Breakdown breakdown;                ///< of the slowest rank
  std::vector<Breakdown> of_program;  ///< of the first rank of each distinct program
  std::vector<std::size_t> program;   ///< of each rank: its number there
  nlohmann::ordered_json equations;
};

/// Epoch of the slowest rank: its kernels, the communication that its staged products do not hide
/// (MG-GCN 4.3 with times of section 5.1 if devices are linked directly, else those of CAGNET's α-β
/// model), and a ring all-reduce of the gradients. Without contention, hosts and waiting for other
/// ranks.
///
/// Errors    those of kernel_seconds; Uncalibrated
ModelOutcome evaluate_model(const ModelInput& input);

/// Why the equations do not cover a strategy with these settings.
std::optional<std::string> why_no_equations(const StrategyConfig& strategy,
                                            const ModelConfig& model);

/// The result of a run on paper: the same as a real one, and how it was made.
struct ModelledOutcome {
  Outcome outcome;
  nlohmann::ordered_json model, equations;  ///< of result.json
};

/// Records the experiment's programs and evaluates the equations with the prices of its devices'
/// profile.
///
/// Errors    as evaluate_model; OutOfMemory (as the device would), ProgramError (the check),
///           NeedsStructure, ConfigError (no or several profiles; a library the profile has not;
///           why_no_equations)
ModelledOutcome model(const PreparedExperiment& prepared);

}  // namespace orrery
