// Training that ends by the accuracy and loss of validation vertices, on several ranks as on one.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/strategy/train/train.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::make_problem;
using testing::random_dataset;

Problem by_both(int ranks, const StrategyConfig& strategy, int epochs) {
  Problem problem = make_problem(random_dataset(61, 350, 12, 5, true), ranks, strategy);
  problem.train.epochs = epochs;
  problem.train.best_by = BestBy::accuracy_and_loss;
  return problem;
}

// Ranks have unequal numbers of validation vertices, or each a copy, or some columns of all.
TEST(BestEpoch, ValidationLossIsThatOfOneRankInEveryStrategy) {
  const auto alone = execute(by_both(1, {}, 4)).epochs;
  ASSERT_TRUE(alone.back().validation_loss);
  EXPECT_GT(*alone.back().validation_loss, 0);
  for (const auto& [name, config] : testing::all_strategies()) {
    SCOPED_TRACE(name);
    const auto several = execute(by_both(4, config, 4)).epochs;
    ASSERT_EQ(several.size(), alone.size());
    for (std::size_t e = 0; e < alone.size(); ++e)
      EXPECT_NEAR(several[e].validation_loss.value_or(-1), *alone[e].validation_loss, 1e-4);
  }
}

TEST(BestEpoch, NeedsValidationVertices) {
  auto data = std::make_shared<Dataset>(*random_dataset(61, 350, 12, 5, true));
  for (auto& split : data->split)
    if (split == Split::validation) split = Split::test;
  Problem problem = by_both(1, {}, 4);
  problem.data = data;

  EXPECT_THROW(execute(problem), ConfigError);
  EXPECT_THROW(require_trainable(problem), ConfigError) << "a plan says so before the run";
  problem.train.best_by = BestBy::accuracy;
  EXPECT_NO_THROW(require_trainable(problem));
  problem.train.patience = 3;
  EXPECT_THROW(require_trainable(problem), ConfigError);
  problem.train.patience = 0;
  problem.train.keep_best = true;
  EXPECT_THROW(require_trainable(problem), ConfigError);
}

/// Epochs of a training with patience, told from one without, by the published program.
std::size_t epochs_with_patience(const std::vector<EpochReport>& all, int patience) {
  double highest = 0, lowest = 1e30;
  int waited = 0;
  for (std::size_t e = 0; e < all.size(); ++e) {
    const double accuracy = *all[e].scores->validation, loss = *all[e].validation_loss;
    if (accuracy >= highest || loss <= lowest) {
      highest = std::max(highest, accuracy);
      lowest = std::min(lowest, loss);
      waited = 0;
    } else if (++waited == patience) {
      return e + 1;
    }
  }
  return all.size();
}

TEST(BestEpoch, PatienceByBothEndsWhereThePublishedProgramDoes) {
  Problem problem = by_both(1, {}, 300);
  problem.train.learning_rate = 0.05;
  const auto whole = execute(problem).epochs;
  const std::size_t want = epochs_with_patience(whole, 6);
  ASSERT_LT(want, whole.size());  // else this says nothing
  for (const int ranks : {1, 3}) {
    Problem patient = by_both(ranks, {}, 300);
    patient.train.learning_rate = 0.05;
    patient.train.patience = 6;

    const auto epochs = execute(patient).epochs;

    EXPECT_EQ(epochs.size(), want) << ranks << " ranks";
    EXPECT_TRUE(epochs.back().stops_early);
  }
}

}  // namespace
}  // namespace orrery
