#include "core/strategy/record.hpp"

#include "core/base/parallel.hpp"
#include "core/runtime/recorder.hpp"
#include "core/strategy/train.hpp"

namespace orrery {
namespace {

class Unobserved final : public TrainObserver {
  bool epoch_done(const EpochReport&) override { return true; }
};

}  // namespace

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

}  // namespace orrery
