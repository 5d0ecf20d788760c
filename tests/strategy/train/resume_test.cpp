// A run that goes on from a checkpoint is the run that never stopped.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/strategy/make_strategy.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::losses;
using testing::make_problem;
using testing::random_dataset;

class Resumed : public ::testing::TestWithParam<testing::NamedStrategy> {};

TEST_P(Resumed, GoesOnWithTheSameBits) {
  Problem problem = make_problem(random_dataset(60, 300, 12, 4, true), 4, GetParam().config);
  problem.train.epochs = 12;
  std::vector<Checkpoint> kept;
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.checkpoint_every = 5;
  options.keep = [&](const Checkpoint& checkpoint) { kept.push_back(checkpoint); };
  const auto whole =
      losses(execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {}));
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].epochs, 5);
  EXPECT_EQ(kept[1].epochs, 10);

  options.control.resume = std::make_shared<const Checkpoint>(kept[0]);
  const Outcome resumed =
      execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});

  EXPECT_EQ(resumed.epochs.front().epoch, 5);
  EXPECT_EQ(losses(resumed), std::vector<double>(whole.begin() + 5, whole.end()));
}

const auto kNameOfResumed = [](const ::testing::TestParamInfo<testing::NamedStrategy>& param) {
  return param.param.name;
};
INSTANTIATE_TEST_SUITE_P(All, Resumed, ::testing::ValuesIn(testing::all_strategies()),
                         kNameOfResumed);
INSTANTIATE_TEST_SUITE_P(Local, Resumed, ::testing::ValuesIn(testing::local_model_strategies()),
                         kNameOfResumed);

/// The weights serve any strategy and any number of ranks.
TEST(Checkpoints, ServeAnotherStrategyOnAnotherNumberOfRanks) {
  const auto data = random_dataset(60, 300, 12, 4, true);
  Problem problem = make_problem(data, 4, "full_graph");
  problem.train.epochs = 8;
  std::shared_ptr<const Checkpoint> kept;
  ExecuteOptions options;
  options.control.checkpoint_every = 4;
  options.keep = [&](const Checkpoint& c) {
    if (c.epochs == 4) kept = std::make_shared<const Checkpoint>(c);
  };
  const auto whole =
      losses(execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {}));

  Problem other = make_problem(data, 3, "spmm_1d");
  other.train.epochs = 8;
  ExecuteOptions go_on;
  go_on.control.resume = kept;
  const auto rest =
      losses(execute_on_threads(TrainingBody(*make_strategy(other), other), go_on, {}));

  for (std::size_t i = 0; i < rest.size(); ++i)
    EXPECT_NEAR(rest[i], whole[4 + i], 1e-4 * whole[4 + i]);
}

TEST(Checkpoints, AreAlsoKeptWhenARunIsStopped) {
  const Problem problem = make_problem(random_dataset(30, 90, 6, 3, true), 2, "full_graph");
  const std::atomic<bool> stop{true};
  int epochs = 0;
  ExecuteOptions options;
  options.stop = &stop;
  options.control.checkpoint_every = 10;
  options.keep = [&](const Checkpoint& checkpoint) { epochs = checkpoint.epochs; };

  execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});

  EXPECT_EQ(epochs, 1);
}

TEST(Checkpoints, OfOtherSizesAreRefused) {
  const Problem problem = make_problem(random_dataset(30, 90, 6, 3, true), 2, "full_graph");
  ExecuteOptions options;
  options.control.resume = std::make_shared<const Checkpoint>(Checkpoint{3, {{1, 2, 3}}});

  EXPECT_THROW(execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {}),
               ConfigError);
}

TEST(Checkpoints, ThatCannotBeKeptEndTheRun) {
  const Problem problem = make_problem(random_dataset(30, 90, 6, 3, true), 3, "spmm_1d");
  ExecuteOptions options;
  options.control.checkpoint_every = 2;
  options.keep = [](const Checkpoint&) { throw Error("no space left"); };

  try {
    execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});
    FAIL() << "the run went on";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no space left");
  }
}

}  // namespace
}  // namespace orrery
