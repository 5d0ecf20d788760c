// An inference made ready: its data, and what its ranks would move and hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/inference/inference_body.hpp"
#include "experiments/infer/stage_costs.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// What is inferred, as it was read.
struct LoadedInference {
  std::shared_ptr<const InferenceData> data;
  /// Each rank read a range of the edges, and received so many bytes of others' (over all ranks);
  /// nothing: each process read all of them.
  std::optional<double> received_bytes;
};

/// Reads the graph that is inferred: the whole one, also where a part of it is trained on. In a job over
/// MPI each rank reads a range of the edges, where they lie in a folder of NumPy arrays and keep their
/// order, and ends up with the rows of its part.
///
/// Errors    those of load_dataset; ConfigError: no features
LoadedInference load_inference(const Experiment& experiment, const Job& job);

/// Draws and counts; over MPI all ranks together.
std::shared_ptr<const LayerGraphs> make_graphs(const InferenceProblem& problem, const Job& job);

/// Without its weights and graphs.
InferenceProblem inference_of(const Experiment& experiment,
                              std::shared_ptr<const InferenceData> data);

/// A checksum of the rows of the graph and of its features, the same over any backend: the layers that
/// were computed depend on them. All ranks of a job call it.
///
/// Cost      reads all features
std::string contents_of(const InferenceProblem& problem, const Job& job);

/// What each rank's stages move and hold, by rank.
using RankStages = std::vector<std::vector<StageCost>>;

/// Records what the ranks would do: all of them here or, in a job over MPI, each its own, which all
/// are told of.
RankStages count_stages(const InferenceBody& body, const Job& job);

/// Where no size of groups is given (group_bytes 0) and ranks have so many bytes: sets half as large
/// ones again and again, until what they hold fits or a group is a row. Nothing: unlimited.
RankStages fit_groups(InferenceProblem& problem, const std::optional<std::int64_t>& device_bytes,
                      const Job& job);

/// The most that a rank holds at a time.
std::int64_t peak_of(const std::vector<StageCost>& stages);
std::int64_t largest_peak(const RankStages& stages);
/// By all ranks from others.
double received_bytes_of(const RankStages& stages);

}  // namespace orrery
