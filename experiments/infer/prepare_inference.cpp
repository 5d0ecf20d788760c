#include "experiments/infer/prepare_inference.hpp"

#include <algorithm>
#include <utility>

#include "core/runtime/recording.hpp"
#include "core/terminal/activity.hpp"

namespace orrery {

std::shared_ptr<const Dataset> whole_graph(DatasetCache& datasets, const Experiment& experiment) {
  const ProblemData data = datasets.load(experiment);
  return data.whole ? data.whole->data : data.data;
}

InferenceProblem inference_of(const Experiment& experiment, std::shared_ptr<const Dataset> data) {
  InferenceProblem problem;
  problem.data = std::move(data);
  problem.model = experiment.model;
  problem.train_seed = experiment.train.seed;
  problem.config = experiment.inference;
  problem.column_tiles = experiment.strategy.column_tiles;
  return problem;
}

RankStages count_stages(const InferenceBody& body, const Job& job) {
  const Activity counting("counting what the ranks move and hold");
  const auto of_rank = [&](int rank) {
    return stage_costs(record_rank(body, rank, body.epochs(), {}), body.epochs());
  };
  RankStages all;
  if (job.world == nullptr) {
    for (int rank = 0; rank < body.ranks(); ++rank) all.push_back(of_rank(rank));
    return all;
  }
  for (const std::string& text : job.world->all_gather(to_json(of_rank(job.world->rank())).dump()))
    all.push_back(stage_costs_from(nlohmann::ordered_json::parse(text)));
  return all;
}

RankStages fit_groups(InferenceProblem& problem, const std::optional<std::int64_t>& device_bytes,
                      const Job& job) {
  RankStages stages = count_stages(InferenceBody(problem), job);
  if (problem.config.group_bytes > 0 || !device_bytes) return stages;
  const auto widths =
      widths_of(problem.model, problem.data->features->width(), problem.data->labels.classes);
  const std::int64_t row = bytes_of(DType::f32) * *std::max_element(widths.begin(), widths.end());
  std::int64_t bytes = row * problem.data->vertices() / problem.config.rows;
  while (largest_peak(stages) > *device_bytes && bytes > row) {
    bytes /= 2;
    problem.config.group_bytes = bytes;
    stages = count_stages(InferenceBody(problem), job);
  }
  return stages;
}

std::int64_t peak_of(const std::vector<StageCost>& stages) {
  std::int64_t most = 0;
  for (const StageCost& stage : stages) most = std::max(most, stage.peak_bytes);
  return most;
}

std::int64_t largest_peak(const RankStages& stages) {
  std::int64_t most = 0;
  for (const auto& rank : stages) most = std::max(most, peak_of(rank));
  return most;
}

double received_bytes_of(const RankStages& stages) {
  double sum = 0;
  for (const auto& rank : stages)
    for (const StageCost& stage : rank) sum += stage.received_bytes;
  return sum;
}

}  // namespace orrery
