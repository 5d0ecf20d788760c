// Validation losses, and training that ends by them, on several ranks as on one.
#include "core/strategy/train/patience.hpp"

#include <gtest/gtest.h>

#include "tests/support/problems.hpp"

namespace orrery {
namespace {

EpochReport scored(double accuracy, double loss) {
  EpochReport report;
  report.scores = Accuracies{0.5, accuracy, 0.5};
  report.validation_loss = loss;
  return report;
}

TEST(Patience, EndsAfterSoManyEvaluationsWithoutOneAsGood) {
  TrainConfig train;
  train.patience = 2;
  Patience by_accuracy(train);
  train.best_by = BestBy::accuracy_and_loss;
  Patience by_both(train);

  for (const auto& [accuracy, loss, ends] :
       {std::tuple{0.5, 1.0, false}, {0.4, 1.0, false}, {0.5, 1.2, false}, {0.4, 0.9, false}})
    EXPECT_EQ(by_accuracy.ends_after(scored(accuracy, loss)), ends);
  EXPECT_TRUE(by_accuracy.ends_after(scored(0.4, 0.8)));
  for (const double loss : {1.0, 0.9, 0.8, 0.7, 0.9})
    EXPECT_FALSE(by_both.ends_after(scored(loss == 1.0 ? 0.5 : 0.4, loss)));
  EXPECT_TRUE(by_both.ends_after(scored(0.4, 0.9)));
}

TEST(Patience, ValidationLossIsThatOfOneRankOnAnyNumberOfRanks) {
  const auto data = testing::random_dataset(61, 350, 12, 5, true);
  const auto reports = [&](int ranks, const StrategyConfig& strategy) {
    Problem p = testing::make_problem(data, ranks, strategy);
    p.train.epochs = 4;
    p.train.best_by = BestBy::accuracy_and_loss;
    return testing::execute(p).epochs;
  };
  const auto alone = reports(1, {});
  StrategyConfig batches, grid;
  batches.type = "shared_preloading";
  batches.batches = 2;
  grid.type = "spmm_2d";

  ASSERT_TRUE(alone.back().validation_loss);
  EXPECT_GT(*alone.back().validation_loss, 0);
  for (const StrategyConfig& strategy : {StrategyConfig{}, grid}) {
    const auto several = reports(4, strategy);
    for (std::size_t e = 0; e < alone.size(); ++e)
      EXPECT_NEAR(*several[e].validation_loss, *alone[e].validation_loss, 1e-4) << strategy.type;
  }
  // Two structures are evaluated one after the other.
  for (const EpochReport& report : reports(2, batches))
    EXPECT_GT(report.validation_loss.value_or(0), 0);
}

TEST(Patience, TrainingEndsOnAllRanksTogether) {
  Problem p = testing::make_problem(testing::random_dataset(61, 350, 12, 5, true), 3, "full_graph");
  p.train.epochs = 400;
  p.train.patience = 5;

  const auto epochs = testing::execute(p).epochs;

  EXPECT_LT(epochs.size(), 400U);
  EXPECT_GE(epochs.size(), 6U);
}

}  // namespace
}  // namespace orrery
