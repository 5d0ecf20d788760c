// Batch norm over all vertices of all ranks: what it sums, moves, holds and keeps.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

constexpr std::int64_t kFeatures = 6, kHidden = 16;

/// Two of its three layers are normalised.
Problem problem_of(const std::shared_ptr<const Dataset>& data, int ranks,
                   const StrategyConfig& config) {
  Problem p = make_problem(data, ranks, config);
  p.model.type = ModelType::sage;
  p.model.layers = 3;
  p.model.hidden = kHidden;
  p.model.dropout = 0;
  p.model.batch_norm = true;
  p.train.epochs = 6;
  return p;
}

std::vector<testing::NamedStrategy> strategies() {
  auto all = testing::all_strategies();
  for (const auto& inexact : testing::inexact_strategies()) all.push_back(inexact);
  std::erase_if(all, [](const auto& s) { return !info_of(s.config).sums_over_vertices; });
  return all;
}

class BatchNormIn : public ::testing::TestWithParam<testing::NamedStrategy> {};

TEST_P(BatchNormIn, IsRecordedAsItRunsAndPassesTheCheck) {
  for (const bool overlap : {true, false}) {
    Problem p = problem_of(random_dataset(50, 250, kFeatures, 4, false), 4, GetParam().config);
    p.strategy.overlap = overlap;
    p.train.epochs = 3;

    SCOPED_TRACE(overlap);
    testing::expect_as_recorded(p);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, BatchNormIn, ::testing::ValuesIn(strategies()),
                         [](const auto& each) { return each.param.name; });

/// The states after each epoch.
std::vector<Checkpoint> checkpoints(const Problem& p, std::shared_ptr<const Checkpoint> from = {}) {
  std::vector<Checkpoint> kept;
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.resume = std::move(from);
  options.control.checkpoint_every = 1;
  options.keep = [&](const Checkpoint& checkpoint) { kept.push_back(checkpoint); };
  execute_on_threads(TrainingBody(*make_strategy(p), p), options, {});
  return kept;
}

/// Without edges the first layer is x·W1; with a learning rate of next to nothing W1 stays as it
/// was drawn, and an average after e epochs is 0.9^e of its start and the rest of what it is of.
TEST(RunningAverages, AreOfAllVerticesOfAllRanks) {
  const auto data = random_dataset(60, 0, kFeatures, 4, true);
  StrategyConfig preloading;
  preloading.type = "shared_preloading";
  preloading.ranks_per_server = 2;
  for (const StrategyConfig& config : {StrategyConfig{}, preloading}) {
    Problem p = problem_of(data, 4, config);
    p.train.learning_rate = 1e-30;
    p.train.optimizer = OptimizerType::sgd;

    const Checkpoint third = checkpoints(p).at(2);

    ASSERT_EQ(third.state.size(), 2U) << "weights, averages";
    const std::vector<float>&weights = third.state[0], &averages = third.state[1];
    ASSERT_EQ(averages.size(), at(2 * 2 * kHidden));
    std::vector<Vertex> all(60);
    for (std::size_t v = 0; v < all.size(); ++v) all[v] = static_cast<Vertex>(v);
    std::vector<float> x(60 * kFeatures);
    data->features->read(all, 0, kFeatures, x.data(), kFeatures);
    for (std::int64_t c = 0; c < kHidden; ++c) {
      std::vector<double> column;
      for (std::int64_t v = 0; v < 60; ++v) {
        double y = 0;
        for (std::int64_t k = 0; k < kFeatures; ++k)
          y += static_cast<double>(x[at(v * kFeatures + k)]) *
               static_cast<double>(weights[at(k * kHidden + c)]);
        column.push_back(y);
      }
      double mean = 0, variance = 0;
      for (const double y : column) mean += y / 60;
      for (const double y : column) variance += (y - mean) * (y - mean) / 60;
      const double kept = 0.9 * 0.9 * 0.9;
      EXPECT_NEAR(averages[at(c)], (1 - kept) * mean, 1e-5);
      EXPECT_NEAR(averages[at(kHidden + c)], kept + (1 - kept) * variance, 1e-5);
    }
  }
}

TEST(RunningAverages, GoOnFromACheckpointOnOtherRanks) {
  const auto data = random_dataset(60, 300, kFeatures, 4, true);
  const auto whole = checkpoints(problem_of(data, 4, {}));

  const auto resumed =
      checkpoints(problem_of(data, 3, {}), std::make_shared<const Checkpoint>(whole.at(2)));

  ASSERT_EQ(resumed.back().epochs, whole.back().epochs);
  const std::vector<float>&got = resumed.back().state.back(), &want = whole.back().state.back();
  ASSERT_EQ(got.size(), at(2 * 2 * kHidden));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
}

TEST(CoBatchesWithBatchNorm, LearnTheSameHoweverManyRanksAServerHas) {
  const auto data = random_dataset(80, 300, kFeatures, 3, true);
  const auto with = [&](int ranks_per_server) {
    StrategyConfig config;
    config.type = "shared_preloading";
    config.ranks_per_server = ranks_per_server;
    config.batches = 3;
    return losses(execute(problem_of(data, 2 * ranks_per_server, config)));
  };
  const auto got = with(3), want = with(1);

  for (std::size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]);
}

Totals::Kind epoch_of(const Problem& p) {
  return summarise(record_training(*make_strategy(p), p, 1, {})[0], Placement::uniform(1, 4))
      .epoch.sum();
}

/// Each of two layers receives from all other ranks: 2f + 1 sums of 8 bytes forward, 2f of 4
/// backward, and the gradients of gain and shift less those of a bias; an all-reduce of n bytes
/// among p moves 2n/p from each peer.
TEST(BatchNormMoves, TwoSumsOfColumnsALayerAndItsGradients) {
  Problem with = problem_of(random_dataset(50, 250, kFeatures, 4, false), 4, {});
  with.train.eval_every = 0;
  Problem without = with;
  without.model.batch_norm = false;

  const double layer = 8 * (2 * kHidden + 1) + 4 * 2 * kHidden + 4 * kHidden;
  EXPECT_NEAR(epoch_of(with).internal - epoch_of(without).internal, 3 * (2.0 / 4) * 2 * layer,
              1e-6);
}

/// Normalised rows and sums of two layers; sums for the backward pass; gain and shift, less a
/// bias, with their gradients and moments; averages.
TEST(BatchNormHolds, RowsSumsAndAverages) {
  const auto bytes = [](const Problem& p) {
    return record_training(*make_strategy(p), p, 1, {})[0].peak_by_class;
  };
  Problem with = problem_of(random_dataset(50, 250, kFeatures, 4, false), 1, {});
  Problem without = with;
  without.model.batch_norm = false;
  auto a = bytes(with), b = bytes(without);

  EXPECT_EQ(a["activations"] - b["activations"], 2 * (50 * kHidden * 4 + (2 * kHidden + 1) * 8));
  EXPECT_EQ(a["scratch"] - b["scratch"], 2 * kHidden * 4);
  EXPECT_EQ(a["parameters"] - b["parameters"], 2 * (2 * kHidden + 2 * kHidden) * 4);
  EXPECT_EQ(a["optimizer"] - b["optimizer"], 2 * 2 * kHidden * 4);
}

TEST(BatchNorm, IsRefusedWhereNothingIsSummedOverVerticesAndBesideALayerNorm) {
  const auto data = random_dataset(60, 300, kFeatures, 4, true);
  const auto refused = [](const Problem& p) {
    try {
      make_strategy(p);
    } catch (const ConfigError& error) {
      return error.path;
    }
    return std::string();
  };
  StrategyConfig grid, averaging;
  grid.type = "spmm_2d";
  grid.first_layer = FirstLayer::recompute;
  averaging.type = "model_averaging";
  Problem both = problem_of(data, 4, {});
  both.model.layer_norm = true;

  EXPECT_EQ(refused(problem_of(data, 4, grid)), "model.batch_norm");
  EXPECT_EQ(refused(problem_of(data, 4, averaging)), "model.batch_norm");
  EXPECT_EQ(refused(both), "model.batch_norm");
  EXPECT_EQ(refused(problem_of(data, 4, {})), "");
}

}  // namespace
}  // namespace orrery
