// A prepared inference: its data, and what its ranks would move and hold.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/inference/inference_body.hpp"
#include "experiments/infer/kept/kept_input.hpp"
#include "experiments/infer/stage_costs.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// A stage before the ranks begin.
struct StageBefore {
  std::string name;
  double seconds = 0;
  double received_bytes = 0;                 ///< by all ranks from others
  std::optional<std::int64_t> peak_bytes{};  ///< the most that a process held at once, if known
  std::optional<double> file_bytes{};        ///< read from files, by all ranks, where counted
};

/// The stage of the whole job, from that of each rank: the slowest, the sum of what came, the
/// largest. All ranks call it.
StageBefore of_all_ranks(const StageBefore& mine, const Job& job);

/// The input of the inference, as it was read.
struct LoadedInference {
  std::shared_ptr<const InferenceData> data;
  std::vector<StageBefore> stages{};  ///< of reading it
  bool taken_over = false;            ///< the rows of the graph, from a killed start
};

/// Reads the graph of the inference: the whole graph, even if a training uses a part of it. In a
/// job over MPI, each rank reads a range of the edges if they are in files of edges or in a folder
/// of NumPy arrays and keep their order, and ends up with the rows of its part.
///
/// `kept`: takes over the rows that it has, and else keeps them there; null: neither.
///
/// Errors    those of load_dataset and load_edge_list; ConfigError: no features
LoadedInference load_inference(const Experiment& experiment, const Job& job,
                               const KeptInput* kept = nullptr);

/// Features in files, in the way of this preparation.
///
/// Requires  data.feature_files
std::shared_ptr<const Features> features_in(const InferenceData& data,
                                            const InferenceConfig& config);

/// Bytes of rows that all ranks read from files of features; 0 if there are none.
double feature_file_bytes(const InferenceProblem& problem);

/// The data with as many classes as its weights were trained for: another graph may have other
/// classes, or no labels. `weights`: null keeps them.
std::shared_ptr<const InferenceData> with_classes(std::shared_ptr<const InferenceData> data,
                                                  const Experiment& experiment,
                                                  const TrainedWeights* weights);

/// Without its weights and graphs.
InferenceProblem inference_of(const Experiment& experiment,
                              std::shared_ptr<const InferenceData> data);

/// A checksum of the rows of the graph and of its features, the same over any backend: the computed
/// layers depend on them. All ranks of a job call it.
///
/// Cost      reads all features
std::string contents_of(const InferenceProblem& problem, const Job& job);

/// The bytes that each rank's stages move and hold, by rank.
using RankStages = std::vector<std::vector<StageCost>>;

/// Records what the ranks would do: all of them here or, in a job over MPI, each its own, and all
/// learn all of them.
RankStages count_stages(const InferenceBody& body, const Job& job);

/// If no size of groups is given (group_bytes 0) and ranks have this many bytes: tries sizes, each
/// half as large as the one before, until the ranks' data fits or a group is a row. Nothing:
/// unlimited. `count`: counts a problem as it is.
RankStages fit_groups(InferenceProblem& problem, const std::optional<std::int64_t>& device_bytes,
                      const std::function<RankStages(const InferenceProblem&)>& count);
/// The same for a problem that is to run, with the places of its input.
RankStages fit_groups(InferenceProblem& problem, const std::optional<std::int64_t>& device_bytes,
                      const Job& job);

/// The most that a rank holds at once.
std::int64_t peak_of(const std::vector<StageCost>& stages);
std::int64_t largest_peak(const RankStages& stages);
/// The bytes that all ranks receive from others.
double received_bytes_of(const RankStages& stages);

}  // namespace orrery
