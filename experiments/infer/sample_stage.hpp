// The stage `sample` of an inference: neighbours are drawn, and the ranks learn how many rows they
// need of each other.
#pragma once

#include <cstdint>
#include <optional>

#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

/// Sets the graphs and the located input of the problem; over MPI all ranks together. Every rank
/// learns the seconds of the slowest, what all received, and what the largest held. `kept`: takes over
/// the drawn neighbours that it has, and else keeps them there; null: neither. Located input is not kept.
StageBefore draw_and_count(InferenceProblem& problem, const Job& job,
                           const KeptInput* kept = nullptr);

/// What a process holds at most while it draws and counts: the neighbours drawn for its parts, the
/// marks of rows that were seen, the lengths of rows if weights depend on them, and the counts.
/// `only_part`: as in LayerGraphs::Settings; without it, of all parts.
///
/// Requires  edges, not their statistics
/// Source    the costs that LayerGraphs and locate_input() state
std::int64_t sampling_bytes(const InferenceProblem& problem, std::optional<int> only_part);

/// The places of features in files (core/inference/located_rows.hpp); over MPI all ranks together.
std::shared_ptr<const LocatedInput> locate_input(const InferenceProblem& problem, const Job& job);

}  // namespace orrery
