// A loss that is no finite number ends a training, and where it came from is found.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "core/strategy/train/find_divergence.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::make_problem;
using testing::random_dataset;

/// The outcome of a training, and the checkpoints that it kept, one after every epoch.
struct Trained {
  Outcome outcome;
  std::vector<Checkpoint> kept;
};

Trained train_with_checkpoints(const Problem& problem) {
  Trained trained;
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.inspects_weights = true;
  const bool keeps_rows = problem.strategy.staleness > 0 || delay_of(problem.strategy) > 0;
  if (!keeps_rows) options.control.checkpoint_every = 1;
  options.keep = [&](const Checkpoint& checkpoint) { trained.kept.push_back(checkpoint); };
  trained.outcome = execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});
  return trained;
}

class Divergence : public ::testing::TestWithParam<testing::NamedStrategy> {};

TEST_P(Divergence, EndsTheEpochWithItsLayerAndKeepsNoSuchWeights) {
  Problem problem = make_problem(random_dataset(60, 300, 12, 4, true), 4, GetParam().config);
  problem.train.learning_rate = 1e30;

  const Trained trained = train_with_checkpoints(problem);

  const auto& epochs = trained.outcome.epochs;
  ASSERT_LT(epochs.size(), 20U);
  for (std::size_t e = 0; e + 1 < epochs.size(); ++e) {
    EXPECT_TRUE(std::isfinite(*epochs[e].loss)) << e;
    EXPECT_FALSE(epochs[e].divergence) << e;
  }
  EXPECT_FALSE(std::isfinite(*epochs.back().loss));
  ASSERT_TRUE(epochs.back().divergence);
  ASSERT_TRUE(epochs.back().divergence->layer);
  EXPECT_GE(*epochs.back().divergence->layer, 1);
  EXPECT_LE(*epochs.back().divergence->layer, problem.model.layers);
  EXPECT_FALSE(trained.outcome.interrupted);
  for (const Checkpoint& checkpoint : trained.kept)
    for (const auto& row : checkpoint.state)
      for (const float x : row) ASSERT_TRUE(std::isfinite(x)) << checkpoint.epochs;
}

TEST_P(Divergence, OfFeaturesThatOverflowIsThereInTheFirstEpoch) {
  auto data = std::make_shared<Dataset>(*random_dataset(60, 300, 12, 4, true));
  data->features = dense_features(60, 12, std::vector<float>(60 * 12, 1e38F), "huge", true);
  const Problem problem = make_problem(std::move(data), 4, GetParam().config);

  const Trained trained = train_with_checkpoints(problem);

  ASSERT_EQ(trained.outcome.epochs.size(), 1U);
  EXPECT_TRUE(trained.outcome.epochs.front().divergence);
  EXPECT_TRUE(trained.kept.empty());
}

/// One epoch, whose loss is finite and whose update is far too long.
TEST_P(Divergence, OfTheLastUpdateIsFoundInTheWeights) {
  Problem problem = make_problem(random_dataset(60, 300, 12, 4, true), 4, GetParam().config);
  problem.train.learning_rate = 1e39;
  problem.train.optimizer = OptimizerType::sgd;
  problem.train.epochs = 1;

  const Trained trained = train_with_checkpoints(problem);

  const EpochReport& last = trained.outcome.epochs.back();
  ASSERT_TRUE(last.loss);
  ASSERT_TRUE(last.divergence);
  if (std::isfinite(*last.loss)) {
    EXPECT_EQ(last.divergence->of, orrery::Divergence::Of::weights);
    EXPECT_TRUE(last.divergence->layer);
  }
  EXPECT_TRUE(trained.kept.empty());
}

const auto kNameOf = [](const ::testing::TestParamInfo<testing::NamedStrategy>& param) {
  return param.param.name;
};
INSTANTIATE_TEST_SUITE_P(All, Divergence, ::testing::ValuesIn(testing::all_strategies()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Local, Divergence, ::testing::ValuesIn(testing::local_model_strategies()),
                         kNameOf);
INSTANTIATE_TEST_SUITE_P(Inexact, Divergence, ::testing::ValuesIn(testing::inexact_strategies()),
                         kNameOf);

/// A variance that no float holds is a running average, and no weight.
TEST(BatchNormDivergence, OfRunningAveragesIsFoundAfterTheLastUpdate) {
  auto data = std::make_shared<Dataset>(*random_dataset(60, 300, 12, 4, true));
  std::vector<float> huge(60 * 12, 1);
  huge[5] = 1e25F;
  data->features = dense_features(60, 12, std::move(huge), "huge", true);
  Problem problem = make_problem(std::move(data), 2, "full_graph");
  problem.model.batch_norm = true;
  problem.train.epochs = 1;

  const EpochReport last = train_with_checkpoints(problem).outcome.epochs.back();

  ASSERT_TRUE(std::isfinite(*last.loss));
  ASSERT_TRUE(last.divergence);
  EXPECT_EQ(last.divergence->of, orrery::Divergence::Of::weights);
  EXPECT_EQ(last.divergence->layer, 1);
}

TEST(DenseDivergence, NumbersLayersFromOne) {
  Problem problem = make_problem(random_dataset(60, 300, 12, 4, true), 2, "full_graph");
  problem.model.dense_layers = 1;
  problem.train.learning_rate = 1e30;

  const EpochReport last = train_with_checkpoints(problem).outcome.epochs.back();

  ASSERT_TRUE(last.divergence);
  EXPECT_EQ(last.divergence->layer, 1);
}

/// Parameters of three layers, of 4, 2 + 2 and 4 elements, with these gradients.
class Gradients final : public Body {
 public:
  explicit Gradients(std::vector<float> values)
      : values_(std::make_shared<const std::vector<float>>(std::move(values))) {}
  int ranks() const override { return 1; }
  int epochs() const override { return 1; }
  void run(Runtime& rt, RunObserver& observer, const RunControl&) const override {
    Parameters parameters;
    const auto declare = [&](int layer, Shape shape) {
      parameters.begin_layer(layer);
      parameters.add(shape, {}, false);
    };
    declare(1, {2, 2});
    declare(2, {1, 2});
    declare(2, {1, 2});
    declare(3, {4, 1});
    parameters.allocate(rt, {});
    rt.submit(Lane::compute, Load{FloatArray{values_}, parameters.gradients()});
    EpochReport report;
    report.divergence = find_divergence(rt, parameters, orrery::Divergence::Of::gradients);
    observer.epochs_done(std::span(&report, 1));
  }

 private:
  std::shared_ptr<const std::vector<float>> values_;
};

orrery::Divergence found_in(std::vector<float> gradients) {
  const Gradients body(std::move(gradients));
  return *execute_on_threads(body, {}, {}).epochs.front().divergence;
}

TEST(FindDivergence, NamesTheFirstLayerAndTheLargestOfTheRest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();

  const auto second = found_in({1, -2, 3, 4, 5, 6, 7, -infinite, nan, -9e30F, nan, 8});
  EXPECT_EQ(second.layer, 2);
  EXPECT_FLOAT_EQ(static_cast<float>(*second.largest), 9e30F);
  EXPECT_EQ(second.largest_in, 3);

  const auto first = found_in({1, 2, nan, 4, 5, -60, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(first.layer, 1);
  EXPECT_EQ(first.largest, 60);
  EXPECT_EQ(first.largest_in, 2);

  EXPECT_EQ(found_in(std::vector<float>(12, 1)).layer, std::nullopt);
  EXPECT_EQ(found_in(std::vector<float>(12, nan)).largest, std::nullopt);
}

}  // namespace
}  // namespace orrery
