#include "core/strategy/train/record.hpp"

#include <algorithm>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/recorder.hpp"
#include "core/strategy/train/train.hpp"

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

Program record_rank(const Strategy& strategy, const Problem& problem, int rank, int epochs,
                    const Capacities& capacities) {
  Recorder recorder({rank, problem.ranks(), capacities, true});
  Unobserved observer;
  TrainControl control;
  control.epochs = epochs;
  train(recorder, strategy, problem, observer, control);
  return recorder.program();
}

std::vector<Program> record_training(const Strategy& strategy, const Problem& problem, int epochs,
                                     const Capacities& capacities) {
  std::vector<Program> programs(static_cast<std::size_t>(problem.ranks()));
  parallel_for(problem.ranks(), 1, [&](std::int64_t rank, std::int64_t) {
    programs[at(rank)] = record_rank(strategy, problem, static_cast<int>(rank), epochs, capacities);
  });
  return programs;
}

Programs record_shared(const Strategy& strategy, const Problem& problem, int epochs,
                       const Capacities& capacities) {
  std::vector<int> representatives;  // each once, ascending
  Programs programs(static_cast<std::size_t>(problem.ranks()));
  for (int rank = 0; rank < problem.ranks(); ++rank)
    if (strategy.representative(rank) == rank) representatives.push_back(rank);
  const auto entry = [&](int rank) -> auto& { return programs[at(rank)]; };
  parallel_for(static_cast<std::int64_t>(representatives.size()), 1,
               [&](std::int64_t i, std::int64_t) {
                 const int rank = representatives[at(i)];
                 entry(rank) = std::make_shared<const Program>(
                     record_rank(strategy, problem, rank, epochs, capacities));
               });
  for (int rank = 0; rank < problem.ranks(); ++rank)
    entry(rank) = entry(strategy.representative(rank));
  return programs;
}

}  // namespace orrery
