#include "core/strategy/make_strategy.hpp"

#include "core/base/error.hpp"
#include "core/strategy/product/sparse_features.hpp"

namespace orrery {

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

std::unique_ptr<Strategy> make_strategy(const Problem& problem) {
  require_timing_only(problem);
  require_possible_staleness(problem.strategy, problem.model);
  require_countable(problem);
  require_possible_sparse_input(problem);
  switch (problem.strategy.type) {
    case StrategyType::full_graph:
      return make_full_graph(problem);
    case StrategyType::spmm_1d:
      return make_spmm_1d(problem);
    case StrategyType::spmm_15d:
      return make_spmm_15d(problem);
    case StrategyType::spmm_2d:
      return make_spmm_2d(problem);
    case StrategyType::model_averaging:
      return make_model_averaging(problem);
    case StrategyType::shared_preloading:
      return make_shared_preloading(problem);
  }
  ORRERY_ASSERT(!"a strategy type without a plan");
  return nullptr;
}

}  // namespace orrery
