// Halo rows of the epoch before (PipeGCN) and rows of the last broadcast (Sancus): against dense
// loops that keep them by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/full_graph.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/dense_gcn.hpp"

namespace orrery {
namespace {

using testing::dense_problem;
using testing::DenseGcn;
using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::Matrix;
using testing::random_dataset;
using testing::SplitAdjacency;

StrategyConfig stale(const std::string& type, int staleness) {
  StrategyConfig config;
  config.type = type;
  config.staleness = staleness;
  return config;
}
const StrategyConfig kStaleHalo = stale("full_graph", 1);

StrategyConfig smoothed(double features, double gradients) {
  StrategyConfig config = kStaleHalo;
  config.own = StaleSmoothing{features, gradients};
  return config;
}

/// The rows of an earlier epoch, or their moving average from the first epoch on.
class Kept {
 public:
  /// The rows that are used in this epoch, in which `now` travels.
  Matrix use(const Matrix& now, double smoothing) {
    if (epoch_++ == 0) {
      last_ = now;
      return now;
    }
    if (epoch_ == 2) average_ = last_;
    for (std::size_t i = 0; epoch_ > 2 && i < last_.size(); ++i)
      for (std::size_t j = 0; j < last_[i].size(); ++j)
        average_[i][j] = smoothing * average_[i][j] + (1 - smoothing) * last_[i][j];
    last_ = now;
    return average_;
  }

 private:
  int epoch_ = 0;
  Matrix last_, average_;
};

/// y = own·x + halo·(x of the epoch before); gradients that crossed are those of the epoch before.
class StaleHaloProducts final : public testing::DenseProducts {
 public:
  explicit StaleHaloProducts(const Problem& p) : a_(p) {
    if (const auto* set = std::any_cast<StaleSmoothing>(&p.strategy.own)) smoothing_ = *set;
  }
  Matrix aggregate(int layer, const Matrix& x) override {
    return testing::sum(testing::product(a_.own, x),
                        testing::product(a_.halo, forward_[layer].use(x, smoothing_.features)));
  }
  Matrix adjoint(int layer, const Matrix& dy) override {
    const Matrix crossing = testing::product(testing::transposed(a_.halo), dy);
    return testing::sum(testing::product(testing::transposed(a_.own), dy),
                        backward_[layer].use(crossing, smoothing_.gradients));
  }

 private:
  SplitAdjacency a_;
  StaleSmoothing smoothing_;
  std::map<int, Kept> forward_, backward_;
};

/// y = own·x + halo·(x of the last epoch that is a multiple of s + 1); gradients are exact.
class HistoricalProducts final : public testing::DenseProducts {
 public:
  explicit HistoricalProducts(const Problem& p) : a_(p), period_(p.strategy.staleness + 1) {}
  void begin(int epoch) override { epoch_ = epoch; }
  Matrix aggregate(int layer, const Matrix& x) override {
    if (epoch_ % period_ == 0) last_[layer] = x;
    return testing::sum(testing::product(a_.own, x), testing::product(a_.halo, last_[layer]));
  }
  Matrix adjoint(int, const Matrix& dy) override {
    return testing::product(testing::transposed(testing::sum(a_.own, a_.halo)), dy);
  }

 private:
  SplitAdjacency a_;
  int period_, epoch_ = 0;
  std::map<int, Matrix> last_;
};

/// y = own·x + halo·(what the owner of each row sent last): it sends the rows of a layer when all
/// of them together changed by the limit, or after the given number of epochs in which it did not.
class SkippingProducts final : public testing::DenseProducts {
 public:
  explicit SkippingProducts(const Problem& p)
      : a_(p), owner_(p.partition.owner), ranks_(p.ranks()), strategy_(p.strategy) {}
  Matrix aggregate(int layer, const Matrix& x) override {
    if (!last_.contains(layer)) {
      last_[layer] = x;
      age_[layer].assign(static_cast<std::size_t>(ranks_), 0);
    } else {
      for (int r = 0; r < ranks_; ++r) decide(r, last_[layer], age_[layer], x);
    }
    return testing::sum(testing::product(a_.own, x), testing::product(a_.halo, last_[layer]));
  }
  Matrix adjoint(int, const Matrix& dy) override {
    return testing::product(testing::transposed(testing::sum(a_.own, a_.halo)), dy);
  }
  int changed = 0, due = 0, skipped = 0;  ///< decisions so far

 private:
  void decide(int rank, Matrix& last, std::vector<int>& ages, const Matrix& x) {
    double change = 0, size = 0;
    for (std::size_t v = 0; v < x.size(); ++v)
      for (std::size_t j = 0; owner_[v] == rank && j < x[v].size(); ++j) {
        change += std::pow(x[v][j] - last[v][j], 2);
        size += std::pow(last[v][j], 2);
      }
    int& age = ages[static_cast<std::size_t>(rank)];
    const bool much = std::sqrt(change) >= strategy_.skip_below * std::sqrt(size);
    if (!much && age < strategy_.staleness) {
      ++age;
      ++skipped;
      return;
    }
    ++(much ? changed : due);
    age = 0;
    for (std::size_t v = 0; v < x.size(); ++v)
      if (owner_[v] == rank) last[v] = x[v];
  }

  SplitAdjacency a_;
  std::vector<std::int32_t> owner_;
  int ranks_;
  StrategyConfig strategy_;
  std::map<int, Matrix> last_;
  std::map<int, std::vector<int>> age_;
};

StrategyConfig skipping(double below, int oldest) {
  StrategyConfig config = stale("spmm_1d", oldest);
  config.skip_below = below;
  return config;
}

template <class Products>
void expect_dense_losses(const StrategyConfig& config, LayerOrder order = LayerOrder::automatic) {
  for (const int ranks : {1, 2, 4})
    for (const bool widens : {true, false})
      for (const bool symmetric : {true, false}) {
        Problem p = dense_problem(random_dataset(40, 160, 6, 3, symmetric), ranks, config, widens);
        p.model.order = order;
        Products products(p);
        testing::expect_dense_losses(p, products);
      }
}

TEST(StaleHalo, LearnsWhatDenseLoopsThatKeepTheLastRowsLearn) {
  expect_dense_losses<StaleHaloProducts>(kStaleHalo);
}
/// PipeGCN's own form.
TEST(StaleHalo, OfInputRowsLearnsWhatDenseLoopsLearn) {
  expect_dense_losses<StaleHaloProducts>(kStaleHalo, LayerOrder::aggregate_first);
}
/// PipeGCN-GF. A gradient that is added up over ranks is the sum of their averages.
TEST(StaleHalo, SmoothedLearnsWhatDenseLoopsThatAverageLearn) {
  expect_dense_losses<StaleHaloProducts>(smoothed(0.6, 0.9));
}
/// PipeGCN-F and -G.
TEST(StaleHalo, SmoothingIsSeenFromTheThirdEpochOn) {
  const auto data = random_dataset(40, 160, 6, 3, true);
  const auto plain = losses(execute(dense_problem(data, 4, kStaleHalo, false)));
  for (const auto& config : {smoothed(0.9, 0), smoothed(0, 0.9)}) {
    const auto got = losses(execute(dense_problem(data, 4, config, false)));

    EXPECT_EQ(got[1], plain[1]);
    EXPECT_GT(std::abs(got.back() - plain.back()), 1e-4 * plain.back());
  }
}
TEST(StaleHalo, WithoutOverlapLearnsTheSame) {
  StrategyConfig config = kStaleHalo;
  config.overlap = false;
  expect_dense_losses<StaleHaloProducts>(config);
}
TEST(HistoricalBroadcasts, LearnWhatDenseLoopsThatKeepTheLastRowsLearn) {
  for (const int staleness : {1, 2})
    expect_dense_losses<HistoricalProducts>(stale("spmm_1d", staleness));
}
TEST(SkippedBroadcasts, LearnWhatDenseLoopsThatSkipSmallChangesLearn) {
  int changed = 0, due = 0, skipped = 0;
  for (const int ranks : {1, 2, 4})
    for (const bool widens : {true, false}) {
      const Problem p =
          dense_problem(random_dataset(40, 160, 6, 3, true), ranks, skipping(0.05, 2), widens);
      SkippingProducts products(p);
      testing::expect_dense_losses(p, products);
      changed += products.changed;
      due += products.due;
      skipped += products.skipped;
    }
  EXPECT_GT(changed, 10);
  EXPECT_GT(due, 10);
  EXPECT_GT(skipped, 10);
}
/// Widths 6, 16 and 3: forward 6 and 3 wide, backward 3 wide. Limits between nothing and
/// everything.
TEST(SkippedBroadcasts, MoveLessTheMoreTheySkip) {
  const auto data = random_dataset(40, 160, 6, 3, true);
  std::vector<double> forward;
  for (const double below : {1e-9, 0.05, 0.1, 0.15, 0.2, 0.3, 1.0}) {
    Problem p = make_problem(data, 4, skipping(below, 3), "block");
    p.model.dropout = 0;
    p.strategy.first_layer = FirstLayer::recompute;
    p.train.epochs = 8;
    p.train.eval_every = 0;

    const Outcome outcome = execute(p);

    const double backward = 8 * 4.0 * 30 * 3;
    for (const RankOutcome& rank : outcome.ranks) ASSERT_EQ(rank.summary.epochs, 8);
    const auto epoch = outcome.ranks[1].summary.epoch.by_kind.at("broadcast");
    forward.push_back(epoch.internal - backward);
  }

  EXPECT_EQ(forward.front(), 8 * 4.0 * 30 * 3 + 2 * 4.0 * 30 * 6) << "features never change";
  EXPECT_EQ(forward.back(), 2 * 4.0 * 30 * (6 + 3)) << "in the epochs 0 and 4";
  EXPECT_TRUE(std::is_sorted(forward.rbegin(), forward.rend()));
  const auto between = [&](double bytes) {
    return bytes < forward.front() && bytes > forward.back();
  };
  EXPECT_GE(std::count_if(forward.begin(), forward.end(), between), 2);
}
TEST(SkippedBroadcasts, AreAllSentWhereNoValuesTell) {
  Problem p = make_problem(random_dataset(40, 160, 6, 3, true), 4, skipping(0.5, 3), "block");
  ASSERT_EQ(period_of(p.strategy, p.train.epochs), 1);

  const auto programs = record_training(*make_strategy(p), p, 3, {});

  for (const Program& program : programs) {
    const auto epoch = summarise(program, Placement::uniform(1, 4), 3).epoch;
    EXPECT_EQ(epoch.by_kind.at("broadcast").internal, 3 * 4.0 * 30 * (6 + 3 + 3));
  }
}
/// Else the tests above could pass with exact products.
TEST(Staleness, IsSeenInTheLossFromTheSecondEpochOn) {
  const auto data = random_dataset(40, 160, 6, 3, true);
  for (const auto type : {"full_graph", "spmm_1d"}) {
    const auto got = losses(execute(dense_problem(data, 4, stale(type, 1), false))),
               exact = losses(execute(dense_problem(data, 4, stale(type, 0), false)));

    EXPECT_NEAR(got[0], exact[0], 1e-6);
    EXPECT_GT(std::abs(got[1] - exact[1]), 1e-3 * exact[1]);
  }
}

TEST(Staleness, StillLearnsAndEvaluatesExactly) {
  for (const auto type : {"full_graph", "spmm_1d"}) {
    const auto data = random_dataset(60, 240, 8, 3, true);
    Problem p = make_problem(data, 4, stale(type, 1)), still = p, exact = p;
    p.model.dropout = 0;
    p.train.epochs = 40;
    p.train.learning_rate = 0.05;
    exact.strategy.staleness = 0;
    for (Problem* problem : {&still, &exact}) {
      problem->train.epochs = 3;
      problem->train.learning_rate = 0;
      problem->train.optimizer = OptimizerType::sgd;
    }

    const auto got = losses(execute(p));
    const Outcome unmoved = execute(still), want = execute(exact);

    EXPECT_LT(got.back(), 0.9 * got.front());
    for (std::size_t e = 0; e < unmoved.epochs.size(); ++e)
      EXPECT_EQ(*unmoved.epochs[e].scores->test, *want.epochs[e].scores->test);
  }
}

double received(const Program& program, int epochs) {
  return summarise(program, Placement::uniform(1, 4), epochs).epoch.sum().internal;
}

TEST(StaleHalo, MovesWhatTheExactOneMoves) {
  Problem p = make_problem(random_dataset(40, 160, 6, 3, false), 4, kStaleHalo), exact = p;
  exact.strategy.staleness = 0;

  const auto got = record_training(*make_strategy(p), p, 3, {}),
             want = record_training(*make_strategy(exact), exact, 3, {});

  for (std::size_t r = 0; r < got.size(); ++r) EXPECT_EQ(received(got[r], 3), received(want[r], 3));
}

/// Widths 6, 16 and 3 with dropout: layer 1 aggregates 6 wide first and passes nothing down, layer
/// 2 aggregates 3 wide both ways.
TEST(StaleHalo, KeepsWhatTravelsOfEveryLayerAndDirection) {
  Problem p = make_problem(random_dataset(40, 160, 6, 3, false), 4, kStaleHalo);
  p.train.eval_every = 0;
  const auto source = partitioned_graph(p);

  const auto programs = record_training(*make_strategy(p), p, 2, {});

  for (int r = 0; r < 4; ++r) {
    const HaloStructure part = make_halo_structure(source->rows(r, Direction::forward),
                                                   source->rows(r, Direction::adjoint), r);
    EXPECT_EQ(programs[static_cast<std::size_t>(r)].peak_by_class.at("halo"),
              4 * (6 + 3 + 3) * (part.sent() + part.received()));
  }
}

/// The same widths; averages of what comes in, forward 6 and 3 wide, backward 3 wide.
TEST(StaleHalo, SmoothingKeepsAnAverageOfWhatComesIn) {
  Problem p = make_problem(random_dataset(40, 160, 6, 3, false), 4, smoothed(0.9, 0.9)), plain = p;
  plain.strategy.own.reset();
  p.train.eval_every = plain.train.eval_every = 0;
  const auto source = partitioned_graph(p);

  const auto programs = record_training(*make_strategy(p), p, 3, {}),
             others = record_training(*make_strategy(plain), plain, 3, {});

  EXPECT_NO_THROW(check(programs));
  for (int r = 0; r < 4; ++r) {
    const HaloStructure part = make_halo_structure(source->rows(r, Direction::forward),
                                                   source->rows(r, Direction::adjoint), r);
    const auto halo = [&](const std::vector<Program>& of) {
      return of[static_cast<std::size_t>(r)].peak_by_class.at("halo");
    };
    EXPECT_EQ(halo(programs) - halo(others), 4 * ((6 + 3) * part.received() + 3 * part.sent()));
    EXPECT_EQ(received(programs[static_cast<std::size_t>(r)], 3),
              received(others[static_cast<std::size_t>(r)], 3));
  }
}

/// The same widths: a broadcast epoch brings rows 6 and 3 wide forward and 3 wide backward, the
/// others only the latter.
TEST(HistoricalBroadcasts, BringRowsForwardOnceInAPeriod) {
  for (const int staleness : {1, 3}) {
    Problem p =
        make_problem(random_dataset(40, 160, 6, 3, true), 4, stale("spmm_1d", staleness), "block");
    const double gradients = 4.0 * (6 * 16 + 16 + 16 * 3 + 3) * 2 * 3 / 4;
    const int period = staleness + 1;
    ASSERT_EQ(period_of(p.strategy, p.train.epochs), period);

    const auto programs = record_training(*make_strategy(p), p,
                                          epochs_to_record(TrainingBody(*make_strategy(p), p)), {});

    for (const Program& program : programs) {
      EXPECT_NEAR(received(program, period),
                  period * (gradients + 4.0 * 30 * 3) + 4.0 * 30 * (6 + 3), 1e-3);
      EXPECT_EQ(program.peak_by_class.at("halo"), 4 * 30 * (6 + 3));
    }
  }
}

void expect_refused(const Problem& p, const std::string& key) {
  try {
    execute(p);
    ADD_FAILURE() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path, key);
  }
}

TEST(Staleness, IsRefusedWhereItHasNoMeaning) {
  const auto data = random_dataset(40, 160, 6, 3, true);
  Problem two = make_problem(data, 2, stale("full_graph", 2)),
          sampled = make_problem(data, 2, kStaleHalo), recomputed = sampled,
          column = make_problem(data, 2, stale("spmm_1d", 1));
  sampled.strategy.boundary_sampling = 0.5;
  recomputed.model.type = ModelType::resgcn;
  recomputed.model.recompute = 1;
  column.strategy.variant = Variant::column;

  for (const Problem& p : {two, sampled, recomputed, column})
    expect_refused(p, "strategy.staleness");
  expect_refused(make_problem(data, 2, skipping(0.1, 0)), "strategy.skip_below");
  StrategyConfig fresh = smoothed(0, 0.5);
  fresh.staleness = 0;
  expect_refused(make_problem(data, 2, fresh), "strategy.smooth_gradients");
}

}  // namespace
}  // namespace orrery
