#include "core/strategy/train/record.hpp"

#include "core/strategy/train/train.hpp"

namespace orrery {

std::vector<Program> record_training(const Strategy& strategy, const Problem& problem, int epochs,
                                     const Capacities& capacities) {
  return record_ranks(TrainingBody(strategy, problem), epochs, capacities);
}

}  // namespace orrery
