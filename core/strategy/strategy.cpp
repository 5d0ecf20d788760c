#include "core/strategy/strategy.hpp"

#include "core/base/error.hpp"
#include "core/strategy/sparse_features.hpp"

namespace orrery {

std::shared_ptr<const PartSource> part_source(const Problem& problem) {
  if (problem.statistics)
    return parts_by_statistics(*problem.statistics, problem.model, problem.partition.parts);
  if (problem.stored) return parts_in_folder(problem.stored, problem.model);
  return parts_in_memory(problem.data, problem.model, problem.partition);
}

Tensor Strategy::whole_rows(const Tensor& x, std::int64_t width) {
  ORRERY_ASSERT(x.cols() == width);
  return x;
}

void Strategy::synchronise(const Tensor& gradients) {
  rt_.wait(Lane::comm2, rt_.record(Lane::compute));
  rt_.submit(Lane::comm2, AllReduce{gradients, covering_group()});
  rt_.wait(Lane::compute, rt_.record(Lane::comm2));
}

namespace {

/// The inexact gradients of mggcn_compat may be timed, but nothing may be learned from them.
void require_timing_only(const Problem& problem) {
  if (problem.strategy.first_layer != FirstLayer::mggcn_compat) return;
  if (problem.model.type != ModelType::gcn)
    throw ConfigError("strategy.first_layer", "\"mggcn_compat\" is defined for model.type gcn");
  if (problem.train.eval_every != 0)
    throw ConfigError("strategy.first_layer",
                      "\"mggcn_compat\" computes inexact gradients, so no accuracy may be "
                      "reported: set train.eval_every to 0, or use \"exact\"");
}

/// A magnified graph has counts where others have structure.
void require_countable(const Problem& problem) {
  if (!problem.data || problem.data->magnify == 1) return;
  const StrategyType type = problem.strategy.type;
  if (type != StrategyType::full_graph && type != StrategyType::shared_preloading)
    throw ConfigError("dataset.magnify",
                      "goes with strategy.type full_graph or shared_preloading: set it to 1");
}

}  // namespace

std::unique_ptr<StrategyPlan> plan_strategy(const Problem& problem) {
  require_timing_only(problem);
  require_possible_staleness(problem.strategy, problem.model);
  require_countable(problem);
  require_possible_sparse_input(problem);
  switch (problem.strategy.type) {
    case StrategyType::full_graph:
      return plan_full_graph(problem);
    case StrategyType::spmm_1d:
      return plan_spmm_1d(problem);
    case StrategyType::spmm_15d:
      return plan_spmm_15d(problem);
    case StrategyType::spmm_2d:
      return plan_spmm_2d(problem);
    case StrategyType::model_averaging:
      return plan_model_averaging(problem);
    case StrategyType::shared_preloading:
      return plan_shared_preloading(problem);
  }
  ORRERY_ASSERT(!"a strategy type without a plan");
  return nullptr;
}

}  // namespace orrery
