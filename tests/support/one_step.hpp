// Weights after some epochs, and what a step of gradient descent makes of them.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/problems.hpp"

namespace orrery::testing {

inline std::vector<std::vector<float>> after_epochs(const Problem& problem, int epochs) {
  Checkpoint kept;
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.checkpoint_every = epochs;
  options.keep = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
  execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});
  return kept.state;
}

/// Weights after a step of plain gradient descent, which are the first ones less the gradient.
inline std::vector<std::vector<float>> after_one_step(Problem problem) {
  problem.train.epochs = 1;
  problem.train.optimizer = OptimizerType::sgd;
  problem.train.learning_rate = 1;
  return after_epochs(problem, 1);
}

/// Both have one loss and one gradient in their first epoch, which is a step.
inline void expect_equal_steps(Problem problem, Problem other, double tolerance) {
  problem.train.epochs = other.train.epochs = 1;
  EXPECT_NEAR(losses(execute(problem))[0], losses(execute(other))[0], tolerance);
  const auto got = after_one_step(problem), want = after_one_step(other);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size());
    for (std::size_t j = 0; j < got[i].size(); ++j)
      ASSERT_NEAR(got[i][j], want[i][j], tolerance) << "parameter " << i << ", element " << j;
  }
}

}  // namespace orrery::testing
