// An inference made ready: its data, and what its ranks would move and hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/inference/inference_body.hpp"
#include "experiments/infer/stage_costs.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// A stage that comes before the ranks begin.
struct StageBefore {
  std::string name;
  double seconds = 0;
  // Where they are counted:
  std::optional<double> received_bytes{};    ///< by all ranks from others
  std::optional<std::int64_t> peak_bytes{};  ///< the most that a rank held at a time
  std::optional<double> file_bytes{};        ///< read from files, by all ranks
};

/// What is inferred, as it was read.
struct LoadedInference {
  std::shared_ptr<const InferenceData> data;
  std::vector<StageBefore> stages{};  ///< of reading it
};

/// Reads the graph that is inferred: the whole one, also where a part of it is trained on. In a job over
/// MPI each rank reads a range of the edges, where they lie in files of edges or in a folder of NumPy
/// arrays and keep their order, and ends up with the rows of its part.
///
/// Errors    those of load_dataset and load_edge_list; ConfigError: no features
LoadedInference load_inference(const Experiment& experiment, const Job& job);

/// Draws and counts; over MPI all ranks together.
std::shared_ptr<const LayerGraphs> make_graphs(const InferenceProblem& problem, const Job& job);

/// Where features in files lie (core/inference/located_rows.hpp); over MPI all ranks together.
std::shared_ptr<const LocatedInput> locate_input(const InferenceProblem& problem, const Job& job);

/// Features in files, as this preparation reads them.
///
/// Requires  data.feature_files
std::shared_ptr<const Features> features_in(const InferenceData& data,
                                            const InferenceConfig& config);

/// Bytes of rows that all ranks read from files of features; 0 where there are none.
double feature_file_bytes(const InferenceProblem& problem);

/// The data with as many classes as its weights were trained for: those of another graph may have
/// others, or this one no labels. `weights`: null leaves them.
std::shared_ptr<const InferenceData> with_classes(std::shared_ptr<const InferenceData> data,
                                                  const Experiment& experiment,
                                                  const TrainedWeights* weights);

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
