#include "core/strategy/record.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"
#include "core/runtime/recorder.hpp"
#include "core/strategy/train.hpp"

namespace orrery {
namespace {

class Unobserved final : public TrainObserver {
  bool epoch_done(const EpochReport&) override { return true; }
};

}  // namespace

int epochs_to_record(const Problem& problem) {
  return std::min(std::max(2, period_of(problem.strategy, problem.train.epochs)),
                  problem.train.epochs);
}

Program record_rank(const StrategyPlan& plan, const Problem& problem, int rank, int epochs,
                    const Capacities& capacities) {
  Problem shortened = problem;
  shortened.train.epochs = epochs;
  Recorder recorder({rank, problem.ranks(), capacities, true});
  Unobserved observer;
  train(recorder, plan, shortened, observer);
  return recorder.program();
}

std::vector<Program> record_training(const StrategyPlan& plan, const Problem& problem, int epochs,
                                     const Capacities& capacities) {
  std::vector<Program> programs(static_cast<std::size_t>(problem.ranks()));
  parallel_for(problem.ranks(), 1, [&](std::int64_t rank, std::int64_t) {
    programs[static_cast<std::size_t>(rank)] =
        record_rank(plan, problem, static_cast<int>(rank), epochs, capacities);
  });
  return programs;
}

std::vector<std::shared_ptr<const Program>> record_shared(const StrategyPlan& plan,
                                                          const Problem& problem, int epochs,
                                                          const Capacities& capacities) {
  std::vector<int> representatives;  // each once, ascending
  std::vector<std::shared_ptr<const Program>> programs(static_cast<std::size_t>(problem.ranks()));
  for (int rank = 0; rank < problem.ranks(); ++rank)
    if (plan.representative(rank) == rank) representatives.push_back(rank);
  const auto entry = [&](int rank) -> auto& { return programs[static_cast<std::size_t>(rank)]; };
  parallel_for(
      static_cast<std::int64_t>(representatives.size()), 1, [&](std::int64_t i, std::int64_t) {
        const int rank = representatives[static_cast<std::size_t>(i)];
        entry(rank) =
            std::make_shared<const Program>(record_rank(plan, problem, rank, epochs, capacities));
      });
  for (int rank = 0; rank < problem.ranks(); ++rank) entry(rank) = entry(plan.representative(rank));
  return programs;
}

}  // namespace orrery
