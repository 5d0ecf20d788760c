// The report of an inference: its result, and a table of its stages.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/execute/execute.hpp"
#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

// In the words of the experiment file.
std::string name_of(DenseProduct gemm);
std::string name_of(SparseProduct spmm);
std::string name_of(EdgeProduct sddmm);
std::string name_of(Preparation preparation);
/// For features in files; null for others.
nlohmann::ordered_json preparation_of(const InferenceProblem& problem);

/// "features", "layer 1", ..., "write": the stages of the ranks.
std::vector<std::string> stage_names(int layers);

/// For each stage of the ranks, from `features` on, the seconds between the ends of the one before
/// and of this one, each for the last rank: so they add up to what all took, though ranks wait for
/// each other. 0 for the layers that were `done` before.
std::vector<double> slowest_seconds(const Outcome& outcome, int done = 0);

/// result.json's "stages". `before`: null for a simulation, which neither reads nor samples, and whose
/// set-up is not timed.
nlohmann::ordered_json stages_json(const InferenceProblem& problem,
                                   const std::vector<StageBefore>* before,
                                   const RankStages& counted, const std::vector<double>& seconds);

/// The sum of the stages that have a time.
double total_seconds(const nlohmann::ordered_json& stages);

/// result.json without the facts of the run: stages, seconds, bytes received, kernels, folder.
nlohmann::ordered_json inference_result(const Experiment& experiment,
                                        const InferenceProblem& problem, const RankStages& counted);

/// Prints a line for each stage, and a column for each cluster that it was simulated on.
void print_inference(const nlohmann::ordered_json& result);

}  // namespace orrery
