// A random share of the halo (BNS-GCN): against the matrix that the sample stands for, written out.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/boundary_sample.hpp"
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

constexpr double kSamplingRate = 0.4;

StrategyConfig sampled(double rate = kSamplingRate) {
  StrategyConfig config;
  config.boundary_sampling = rate;
  return config;
}

/// The halos of all ranks.
struct Halos {
  std::vector<HaloStructure> whole;
  std::vector<std::vector<Vertex>> vertices;  ///< global numbers of each rank's rows

  explicit Halos(const Problem& p) {
    const auto source = partitioned_graph(p);
    for (int r = 0; r < p.ranks(); ++r) {
      whole.push_back(make_halo_structure(source->rows(r, Direction::forward),
                                          source->rows(r, Direction::adjoint), r));
      vertices.push_back(*source->vertices(r).numbers());
    }
  }

  std::vector<HaloStructure> sample(double rate, int epoch,
                                    std::uint64_t seed = testing::kSeed) const {
    std::vector<HaloStructure> parts;
    for (std::size_t r = 0; r < whole.size(); ++r)
      parts.push_back(sample_boundary(whole[r], {rate, seed}, epoch, static_cast<int>(r)));
    return parts;
  }

  /// What all ranks multiply with what they receive, as one matrix: the sender of a column says
  /// which vertex it stands for.
  Matrix matrix(const std::vector<HaloStructure>& parts) const {
    std::size_t n = 0;
    for (const auto& list : vertices) n += list.size();
    Matrix a = testing::zeros(n, n);
    for (std::size_t r = 0; r < parts.size(); ++r) {
      std::vector<Vertex> columns;
      for (std::size_t from = 0; from < parts.size(); ++from) {
        const HaloStructure& sender = parts[from];
        EXPECT_EQ((*sender.send)[r], (*parts[r].receive)[from]) << "from " << from << " to " << r;
        std::size_t row = 0;
        for (std::size_t to = 0; to < r; ++to) row += static_cast<std::size_t>((*sender.send)[to]);
        for (std::int64_t k = 0; k < (*sender.send)[r]; ++k, ++row)
          columns.push_back(
              vertices[from][static_cast<std::size_t>((*sender.send_rows.numbers())[row])]);
      }
      const Csr& block = parts[r].halo_block.csr();
      EXPECT_EQ(static_cast<std::int64_t>(columns.size()), block.cols);
      for (std::int64_t i = 0; i < block.rows; ++i)
        for (EdgeIndex e = block.offsets[static_cast<std::size_t>(i)];
             e < block.offsets[static_cast<std::size_t>(i) + 1]; ++e)
          a[static_cast<std::size_t>(vertices[r][static_cast<std::size_t>(i)])]
           [static_cast<std::size_t>(
               columns[static_cast<std::size_t>(block.columns[static_cast<std::size_t>(e)])])] =
               (*parts[r].halo_block.values)[static_cast<std::size_t>(e)];
    }
    return a;
  }
};

Problem small(bool symmetric, int ranks = 3) {
  return make_problem(random_dataset(40, 160, 6, 3, symmetric), ranks, sampled());
}

TEST(BoundarySample, BothEndsKeepTheSameRowsWholeAndScaled) {
  for (const bool symmetric : {true, false}) {
    const Problem p = small(symmetric);
    const Halos halos(p);
    const Matrix exact = SplitAdjacency(p).halo;
    for (int epoch = 0; epoch < 5; ++epoch) {
      const Matrix drawn = halos.matrix(halos.sample(kSamplingRate, epoch));

      for (std::size_t u = 0; u < exact.size(); ++u)
        for (int receiver = 0; receiver < 3; ++receiver) {
          int kept = 0, left_out = 0;  // entries of one row that travels
          for (std::size_t v = 0; v < exact.size(); ++v) {
            if (p.partition.owner[v] != receiver || exact[v][u] == 0) continue;
            ++(drawn[v][u] == 0 ? left_out : kept);
            if (drawn[v][u] != 0) {
              EXPECT_NEAR(drawn[v][u], exact[v][u] / kSamplingRate, 1e-6);
            }
          }
          EXPECT_TRUE(kept == 0 || left_out == 0);
        }
    }
  }
}

TEST(BoundarySample, HasTheExactProductAsItsMean) {
  const Problem p = small(false);
  const Halos halos(p);
  const Matrix exact = SplitAdjacency(p).halo;
  constexpr int kDraws = 600;

  Matrix mean = testing::zeros(exact.size(), exact.size());
  for (int epoch = 0; epoch < kDraws; ++epoch)
    mean = testing::sum(mean, halos.matrix(halos.sample(kSamplingRate, epoch)));

  // An entry a is a/p with probability p: its variance is a²·(1 − p)/p.
  const double deviation = std::sqrt((1 - kSamplingRate) / kSamplingRate / kDraws);
  for (std::size_t v = 0; v < exact.size(); ++v)
    for (std::size_t u = 0; u < exact.size(); ++u)
      EXPECT_NEAR(mean[v][u] / kDraws, exact[v][u], 5 * deviation * exact[v][u]);
}

TEST(BoundarySample, OfRateOneIsTheWholeHalo) {
  const Halos halos(small(false));
  const auto parts = halos.sample(1, 3);

  for (std::size_t r = 0; r < parts.size(); ++r) {
    EXPECT_EQ(*parts[r].receive, *halos.whole[r].receive);
    EXPECT_EQ(*parts[r].send, *halos.whole[r].send);
    EXPECT_EQ(*parts[r].send_rows.numbers(), *halos.whole[r].send_rows.numbers());
    EXPECT_EQ(parts[r].halo_block.csr(), halos.whole[r].halo_block.csr());
    EXPECT_EQ(*parts[r].halo_block.values, *halos.whole[r].halo_block.values);
  }
}

TEST(BoundarySample, DependsOnSeedAndEpochAlone) {
  const Halos halos(small(true));
  const Matrix first = halos.matrix(halos.sample(kSamplingRate, 0));

  EXPECT_EQ(first, halos.matrix(halos.sample(kSamplingRate, 0)));
  EXPECT_NE(first, halos.matrix(halos.sample(kSamplingRate, 1)));
  EXPECT_NE(first, halos.matrix(halos.sample(kSamplingRate, 0, testing::kSeed + 1)));
}

/// Products with the matrix that the samples of an epoch stand for.
class SampledProducts final : public testing::DenseProducts {
 public:
  explicit SampledProducts(const Problem& p)
      : rate_(p.strategy.boundary_sampling), own_(SplitAdjacency(p).own), halos_(p) {}
  void begin(int epoch) override {
    a_ = testing::sum(own_, halos_.matrix(halos_.sample(rate_, epoch)));
  }
  Matrix aggregate(int, const Matrix& x) override { return testing::product(a_, x); }
  Matrix adjoint(int, const Matrix& dy) override {
    return testing::product(testing::transposed(a_), dy);
  }

 private:
  double rate_;
  Matrix own_, a_;
  Halos halos_;
};

TEST(BoundarySampling, LearnsWhatDenseLoopsWithTheSampledMatrixLearn) {
  for (const int ranks : {1, 2, 4})
    for (const bool widens : {true, false})
      for (const bool symmetric : {true, false}) {
        const Problem p =
            dense_problem(random_dataset(40, 160, 6, 3, symmetric), ranks, sampled(), widens);
        SampledProducts products(p);
        testing::expect_dense_losses(p, products);
      }
}

TEST(BoundarySampling, IsAnotherLearningThanTheExactOneAndStillLearns) {
  const auto data = random_dataset(60, 240, 8, 3, true);
  Problem p = make_problem(data, 4, sampled(0.5)), exact = make_problem(data, 4, sampled(1));
  for (Problem* problem : {&p, &exact}) {
    problem->model.dropout = 0;
    problem->train.epochs = 40;
    problem->train.learning_rate = 0.05;
  }

  const auto got = losses(execute(p)), all = losses(execute(exact));

  EXPECT_LT(got.back(), 0.9 * got.front());
  EXPECT_GT(std::abs(got.front() - all.front()), 1e-3 * all.front());
}

TEST(BoundarySampling, EvaluatesOnTheWholeHalo) {
  for (const double dropout : {0.0, 0.5}) {  // without dropout the first layer's input is kept
    const auto data = random_dataset(60, 240, 8, 3, true);
    Problem p = make_problem(data, 4, sampled(0.3)), exact = make_problem(data, 4, sampled(1));
    for (Problem* problem : {&p, &exact}) {
      problem->model.dropout = dropout;
      problem->train.epochs = 4;
      problem->train.learning_rate = 0;
      problem->train.optimizer = OptimizerType::sgd;
    }

    const Outcome got = execute(p), want = execute(exact);

    for (std::size_t e = 0; e < got.epochs.size(); ++e) {
      EXPECT_EQ(*got.epochs[e].scores->train, *want.epochs[e].scores->train);
      EXPECT_EQ(*got.epochs[e].scores->test, *want.epochs[e].scores->test);
    }
  }
}

/// GCN of widths 6, 16 and 3: forward 6 (kept, not sent) and 3 wide, backward 3.
TEST(BoundarySampling, ReceivesTheSampledRowsAndTheirGradients) {
  Problem p = small(false);
  p.model.dropout = 0;
  p.train.epochs = 3;
  p.train.eval_every = 0;
  const Halos halos(p);
  const double gradients = 4.0 * (6 * 16 + 16 + 16 * 3 + 3);

  for (int epochs = 1; epochs <= 3; ++epochs) {
    const auto programs = record_training(*make_strategy(p), p, epochs, {});
    for (std::size_t r = 0; r < programs.size(); ++r) {
      double rows = 0;
      for (int e = 0; e < epochs; ++e) {
        const HaloStructure part = halos.sample(kSamplingRate, e)[r];
        rows += static_cast<double>(part.received() + part.sent());
      }
      const auto sum = summarise(programs[r], Placement::uniform(1, 3), epochs).epoch.sum();

      EXPECT_NEAR(sum.internal, 4 * 3 * rows + epochs * gradients * 2 * 2 / 3, 1e-3);
    }
  }
}

TEST(BoundarySampling, HoldsNoMoreThanTheSampleWhereNothingNeedsTheWholeHalo) {
  Problem p = small(true), whole = small(true);
  p.train.eval_every = whole.train.eval_every = 0;
  whole.strategy.boundary_sampling = 1;

  const auto sampled_bytes = record_training(*make_strategy(p), p, 2, {}),
             all_bytes = record_training(*make_strategy(whole), whole, 2, {});

  for (std::size_t r = 0; r < sampled_bytes.size(); ++r)
    EXPECT_LT(sampled_bytes[r].peak_by_class.at("halo"), all_bytes[r].peak_by_class.at("halo"));
}

}  // namespace
}  // namespace orrery
