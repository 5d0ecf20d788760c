// The loss must not depend on how the work is distributed.
#include <gtest/gtest.h>

#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

void expect_equal_losses(const Outcome& got, const Outcome& want) {
  const auto a = losses(got), b = losses(want);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 1e-4 * std::abs(b[i])) << "epoch " << i;
}

struct Case {
  StrategyType strategy;
  int ranks;
  std::string kernels;
};

class Exactness : public ::testing::TestWithParam<Case> {
 protected:
  void expect_same_as_one_rank(const ModelConfig& model, bool symmetric, int epochs = 20) {
    const auto data = random_dataset(101, 700, 24, 5, symmetric);
    Problem alone = make_problem(data, 1, StrategyType::full_graph);
    alone.model = model;
    alone.train.epochs = epochs;
    Problem spread = make_problem(data, GetParam().ranks, GetParam().strategy);
    spread.model = model;
    spread.train.epochs = epochs;

    const Outcome want = execute(alone, "reference");
    const Outcome got = execute(spread, GetParam().kernels);

    expect_equal_losses(got, want);
    EXPECT_NEAR(*got.epochs.back().scores->test, *want.epochs.back().scores->test, 0.05);
    EXPECT_LT(*want.epochs.back().loss, *want.epochs.front().loss);
  }
};

ModelConfig model_with(ModelType type, int layers, bool norm) {
  ModelConfig model;
  model.type = type;
  model.layers = layers;
  model.hidden = 16;
  model.dropout = 0.3;
  model.layer_norm = norm;
  return model;
}

TEST_P(Exactness, TwoLayerGcnOnSymmetricGraph) {
  expect_same_as_one_rank(model_with(ModelType::gcn, 2, false), true);
}
TEST_P(Exactness, ThreeLayerGcnWithNormOnDirectedGraph) {
  expect_same_as_one_rank(model_with(ModelType::gcn, 3, true), false);
}
TEST_P(Exactness, GcnThatWidensAggregatesFirst) {
  ModelConfig model = model_with(ModelType::gcn, 3, false);
  model.hidden = 40;
  expect_same_as_one_rank(model, false);
}
TEST_P(Exactness, SageThatWidensAggregatesFirst) {
  ModelConfig model = model_with(ModelType::sage, 3, false);
  model.hidden = 40;
  expect_same_as_one_rank(model, true);
}
TEST_P(Exactness, SageWithNormOnDirectedGraph) {
  expect_same_as_one_rank(model_with(ModelType::sage, 3, true), false);
}
TEST_P(Exactness, EightLayers) {
  expect_same_as_one_rank(model_with(ModelType::gcn, 8, true), true);
}
TEST_P(Exactness, FirstStepOfThirtyLayers) {
  expect_same_as_one_rank(model_with(ModelType::sage, 30, true), true, 2);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto strategy : {StrategyType::full_graph, StrategyType::spmm_1d})
    for (const int ranks : {1, 2, 3, 4, 7})
      for (const char* kernels : {"reference", "cpu"}) list.push_back({strategy, ranks, kernels});
  return list;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(info.param.strategy == StrategyType::full_graph ? "FullGraph" : "Spmm1d") +
         std::to_string(info.param.ranks) + "Ranks_" + info.param.kernels;
}
INSTANTIATE_TEST_SUITE_P(All, Exactness, ::testing::ValuesIn(cases()), name_of);

/// Settings that change the schedule but not the result.
class Schedule : public ::testing::TestWithParam<StrategyType> {};

TEST_P(Schedule, WithoutOverlapGivesTheSameLosses) {
  const auto data = random_dataset(60, 300, 12, 4, true);
  Problem overlapped = make_problem(data, 3, GetParam());
  Problem serial = overlapped;
  serial.strategy.overlap = false;

  EXPECT_EQ(losses(execute(overlapped)), losses(execute(serial)));
}

TEST_P(Schedule, ColumnTilesGiveTheSameLosses) {
  const auto data = random_dataset(60, 300, 12, 4, false);
  Problem whole = make_problem(data, 3, GetParam());
  Problem tiled = whole;
  tiled.strategy.column_tiles = 3;

  expect_equal_losses(execute(tiled), execute(whole));
}

TEST_P(Schedule, EmptyRanksAndOneRankThatOwnsAllWork) {
  const auto data = random_dataset(40, 200, 8, 3, true);
  Problem problem = make_problem(data, 4, GetParam());
  for (auto& owner : problem.partition.owner) owner = 2;

  expect_equal_losses(execute(problem), execute(make_problem(data, 1, GetParam())));
}

TEST_P(Schedule, MoreRanksThanVerticesWork) {
  const auto data = random_dataset(3, 6, 4, 2, true);

  expect_equal_losses(execute(make_problem(data, 5, GetParam(), "block")),
                      execute(make_problem(data, 1, GetParam())));
}

TEST_P(Schedule, SameSeedGivesTheSameBits) {
  const auto data = random_dataset(60, 300, 12, 4, true);
  const Problem problem = make_problem(data, 4, GetParam());

  EXPECT_EQ(losses(execute(problem, "cpu")), losses(execute(problem, "cpu")));
}

INSTANTIATE_TEST_SUITE_P(Both, Schedule,
                         ::testing::Values(StrategyType::full_graph, StrategyType::spmm_1d));

}  // namespace
}  // namespace orrery
