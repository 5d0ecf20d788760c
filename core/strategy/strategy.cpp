#include "core/strategy/strategy.hpp"

#include "core/base/error.hpp"

namespace orrery {

void Strategy::synchronise(const Tensor& gradients) {
  rt_.wait(Lane::comm2, rt_.record(Lane::compute));
  rt_.submit(Lane::comm2, AllReduce{gradients, world_group(rt_.size())});
  rt_.wait(Lane::compute, rt_.record(Lane::comm2));
}

std::unique_ptr<StrategyPlan> plan_strategy(const Problem& problem) {
  switch (problem.strategy.type) {
    case StrategyType::full_graph:
      return plan_full_graph(problem);
    case StrategyType::spmm_1d:
      return plan_spmm_1d(problem);
  }
  ORRERY_ASSERT(!"a strategy type without a plan");
  return nullptr;
}

}  // namespace orrery
