// Intervals of simulated epochs: from errors of prices, by hand and by replaying with other prices.
#include "experiments/predict/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/execute/measure.hpp"
#include "experiments/predict/simulate.hpp"

namespace orrery {
namespace {

Breakdown epoch() {
  Breakdown b;
  b.compute = 6;
  b.internal = 1;
  b.external = 2;
  b.other = 1;
  b.hidden = 5;
  b.compute_by_kind = {{"spmm", 4}, {"gemm", 2}};
  return b;
}

TEST(Intervals, AreSharesOfTheEpochTimesErrorsOfPrices) {
  const sim::PriceErrors prices{0.1, {{"spmm", 0.2}, {"gemm", 0.05}}, {{"mpi", 0.3}}};

  const EpochErrors errors = epoch_errors(prices, "mpi", epoch()).value();

  // The standard deviation of a normal distribution is sqrt(pi / 2) times its mean absolute
  // deviation.
  const double deviation = std::sqrt(std::acos(-1) / 2);
  EXPECT_NEAR(errors.at("spmm"), deviation * 0.2 * 0.4, 1e-4);
  EXPECT_NEAR(errors.at("gemm"), deviation * 0.05 * 0.2, 1e-4);
  EXPECT_NEAR(errors.at("operations"), deviation * 0.1 * 0.7, 1e-4) << "waiting is for others";
  EXPECT_NEAR(errors.at("communication"), deviation * 0.3 * 0.3, 1e-4) << "what is exposed";
  double squares = 0;
  for (const auto& [cause, error] : errors) squares += error * error;
  EXPECT_NEAR(half_width(errors), 1.645 * std::sqrt(squares), 1e-4);
}

TEST(Intervals, MessagesBetweenServersThatTheCoresMoveAreOffAsOperationsAre) {
  const sim::PriceErrors prices{0.1, {{"spmm", 0.2}}, {{"mpi", 0.3}, {"nccl", 0.3}}, {"mpi"}};
  const double deviation = std::sqrt(std::acos(-1) / 2);

  const EpochErrors by_cores = epoch_errors(prices, "mpi", epoch()).value(),
                    beside = epoch_errors(prices, "nccl", epoch()).value();

  EXPECT_NEAR(by_cores.at("operations"), deviation * 0.1 * 0.9, 1e-4);
  EXPECT_NEAR(by_cores.at("communication"), deviation * 0.3 * 0.1, 1e-4) << "inside of servers";
  EXPECT_NEAR(beside.at("operations"), deviation * 0.1 * 0.7, 1e-4);
  EXPECT_NEAR(beside.at("communication"), deviation * 0.3 * 0.3, 1e-4);
}

TEST(Intervals, ErrorsThatTwoEpochsShareAreNoneOfTheirRatio) {
  const EpochErrors a{{"operations", 0.1}, {"spmm", 0.03}}, b{{"operations", 0.1}, {"gemm", 0.04}};

  EXPECT_NEAR(half_width_of_ratio(a, b), 1.645 * 0.05, 1e-4);
  EXPECT_EQ(half_width_of_ratio(a, a), 0);
}

// The interval of the ratio is ± 8.2 % of a and b, and ± 1.6 % of a and c.
TEST(Verdicts, SayWhereTheIntervalOfTheRatioLies) {
  const EpochErrors a{{"operations", 0.1}, {"spmm", 0.03}}, b{{"operations", 0.1}, {"gemm", 0.04}},
      c{{"operations", 0.1}, {"spmm", 0.04}};

  EXPECT_EQ(compare_epochs(1.0, a, 1.09, b), Verdict::apart);
  EXPECT_EQ(compare_epochs(1.0, a, 1.08, b), Verdict::cannot_tell);
  EXPECT_EQ(compare_epochs(1.08, b, 1.0, a), Verdict::cannot_tell);
  EXPECT_EQ(compare_epochs(1.0, a, 1.0, b), Verdict::cannot_tell) << "equal, and nobody knows";
  EXPECT_EQ(compare_epochs(1.0, a, 1.03, c), Verdict::as_fast) << "slower, by 1 to 5 %";
  EXPECT_EQ(compare_epochs(1.03, c, 1.0, a), Verdict::as_fast);
  EXPECT_EQ(compare_epochs(1.0, a, 1.04, c), Verdict::apart) << "by up to 6 %";
  EXPECT_EQ(compare_epochs(1.0, a, 1.051, a), Verdict::apart);
  EXPECT_FALSE(compare_epochs(1.0, a, 2.0, std::nullopt)) << "nothing is known of one";
}

TEST(Intervals, AProfileThatSaysNothingOfItsErrorsGivesNone) {
  EXPECT_FALSE(epoch_errors({}, "mpi", epoch()));
  EXPECT_TRUE(interval_json(1, std::nullopt, true).is_null());
  EXPECT_FALSE(errors_from(nullptr));
}

TEST(Intervals, AreReadAsTheyAreWritten) {
  const EpochErrors errors{{"operations", 0.1}, {"spmm", 0.03}};

  const auto json = interval_json(2, errors, false);

  EXPECT_EQ(errors_from(json), errors);
  EXPECT_NEAR(json["high_seconds"].get<double>() / 2, 2 / json["low_seconds"].get<double>(), 1e-12);
  EXPECT_NEAR(std::log(json["high_seconds"].get<double>() / 2), half_width(errors), 1e-12);
  EXPECT_EQ(json["measured"], false);
  EXPECT_NE(interval_words(true), interval_words(false));
}

/// Simulated seconds of an epoch, with other prices of a kind.
Measurement simulated(double factor, const char* kind) {
  const Experiment experiment = parse_experiments(R"({
    "name": "t", "seed": 2,
    "dataset": {"generate": "communities", "vertices": 3000, "edges": 60000, "features": 64},
    "model": {"type": "gcn", "hidden": 64}, "strategy": {"type": "full_graph"},
    "train": {"epochs": 3, "eval_every": 0},
    "cluster": {"file": "a6000-1x4-pcie"}, "backend": "sim",
    "simulation": {"scale": {")" + std::string(kind) +
                                                      "\": " + std::to_string(factor) + "}}}",
                                                  "test", {})
                                    .front();
  Simulator simulator;
  const auto made = simulate(prepare(experiment, DatasetCache().load(experiment)), simulator);
  std::vector<std::vector<EpochCost>> costs;
  std::vector<Summary> summaries;
  for (const RankOutcome& rank : made.outcome.ranks) {
    costs.push_back(rank.epochs);
    summaries.push_back(rank.summary);
  }
  return measure(costs, summaries);
}

// The second way: what another price makes of a replay is what its share of the epoch says.
TEST(Intervals, ReplaysWithOtherPricesChangeByTheSharesOfTheseOperations) try {
  for (const char* kind : {"gemm", "spmm"}) {
    const Measurement usual = simulated(1, kind), dearer = simulated(1.1, kind);
    const auto errors = epoch_errors(
        {0, {{kind, 0.1}, {kind == std::string("gemm") ? "spmm" : "gemm", 1e-9}}, {{"nccl", 0}}},
        "nccl", usual.breakdown);
    const double said = errors->at(kind) / std::sqrt(std::acos(-1) / 2);
    const double made = dearer.epoch_seconds / usual.epoch_seconds - 1;
    // Sparse products wait for rows in part, and what is waited for is not made longer.
    EXPECT_LE(made, 1.25 * said + 1e-3) << kind;
    EXPECT_GE(made, 0.5 * said - 1e-3) << kind;
  }
} catch (const NotBuilt& error) {
  GTEST_SKIP() << error.what();
}

}  // namespace
}  // namespace orrery
