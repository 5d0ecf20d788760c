// Whole runs on GPUs (emulated ones) that ranks share, against the same runs on the CPU.
#include <gtest/gtest.h>

#include "core/model/layer_type.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/typed.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

struct GpuCase {
  testing::NamedStrategy strategy;
  int ranks;
};

class OnGpu : public ::testing::TestWithParam<GpuCase> {
 protected:
  static void expect_same_as_on_cpu(const ModelConfig& model, bool symmetric) {
    Problem problem = make_problem(random_dataset(101, 700, 24, 5, symmetric), GetParam().ranks,
                                   GetParam().strategy.config);
    problem.model = model;
    // Columns that are split cannot be normalised along rows.
    if (GetParam().strategy.config.type == "spmm_2d") problem.model.layer_norm = false;
    problem.train.epochs = 6;

    const Outcome want = execute(problem, "cpu");
    const Outcome got = execute(problem, "cuda");

    expect_equal(losses(got), losses(want));
    for (std::size_t r = 0; r < want.ranks.size(); ++r) {
      EXPECT_EQ(got.ranks[r].received_from, want.ranks[r].received_from);
      EXPECT_EQ(got.ranks[r].final_bytes, want.ranks[r].final_bytes);
    }
    EXPECT_NEAR(*got.epochs.back().scores->test, *want.epochs.back().scores->test, 0.05);
  }

 private:
  static void expect_equal(const std::vector<double>& got, const std::vector<double>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-4 * std::abs(want[i])) << "epoch " << i;
  }
};

ModelConfig model_with(ModelType type, int layers, bool norm, double dropout) {
  ModelConfig model;
  model.type = type;
  model.layers = layers;
  model.hidden = 16;
  model.dropout = dropout;
  model.layer_norm = norm;
  return model;
}

TEST_P(OnGpu, GcnWithDropoutLearnsTheSame) {
  expect_same_as_on_cpu(model_with(ModelType::gcn, 2, false, 0.3), true);
}
TEST_P(OnGpu, SageWithNormOnADirectedGraphLearnsTheSame) {
  expect_same_as_on_cpu(model_with(ModelType::sage, 3, true, 0), false);
}

TEST_P(OnGpu, SageWithBatchNormLearnsTheSame) {
  if (!info_of(GetParam().strategy.config).sums_over_vertices) return;
  ModelConfig model = model_with(ModelType::sage, 3, false, 0);
  model.batch_norm = true;
  expect_same_as_on_cpu(model, false);
}

std::vector<GpuCase> gpu_cases() {
  std::vector<GpuCase> list;
  const auto add = [&](const std::vector<testing::NamedStrategy>& strategies,
                       std::initializer_list<int> worlds) {
    for (const auto& strategy : strategies)
      for (const int ranks : worlds) try {
          parts_for(strategy.config, ranks);
          if (strategy.config.ranks_per_server <= ranks) list.push_back({strategy, ranks});
        } catch (const ConfigError&) {
          // not on this many ranks
        }
  };
  add(testing::all_strategies(), {1, 2, 4});
  add(testing::local_model_strategies(), {4});
  add(testing::inexact_strategies(), {2, 4});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, OnGpu, ::testing::ValuesIn(gpu_cases()), [](const auto& each) {
  return each.param.strategy.name + "On" + std::to_string(each.param.ranks);
});

// Models that work by relation, of the whole graph and in batches, in which the rows of one type are
// learned. Attention has SGD and given rows: some of its gradients are 0 but for rounding, and Adam makes
// whole steps of these.
TEST(TypedOnGpu, LearnsTheSame) {
  const auto data = testing::typed_dataset(90, 800, 12, 4, true);
  for (const char* model : {"rgcn", "rgat"})
    for (const bool in_batches : {false, true})
      for (const int ranks : {1, 3}) {
        StrategyConfig strategy;
        if (in_batches) {
          strategy = testing::batches_of(
              MiniBatchSettings{.batch = 20, .fanouts = {3, 2}, .fanouts_by_relation = true});
        }
        if (model == std::string("rgcn")) strategy.learned = LearnedFeatures{.types = {"b"}};
        Problem problem = testing::typed_problem(data, ranks, strategy);
        problem.model.type = model_type(model);
        problem.model.heads = 4;
        problem.model.self_by_type = true;
        problem.model.dropout = 0.2;
        if (model == std::string("rgat")) problem.train.optimizer = OptimizerType::sgd;

        const auto got = losses(execute(problem, "cuda")), want = losses(execute(problem, "cpu"));

        ASSERT_EQ(got.size(), want.size());
        for (std::size_t e = 0; e < want.size(); ++e)
          EXPECT_NEAR(got[e], want[e], 1e-4 * want[e])
              << model << " " << strategy.type << " on " << ranks << ", epoch " << e;
      }
}

/// The device numbers the vertices of batches and transposes their blocks: to the bit what the host makes.
TEST(RelabelOnGpu, LearnsTheSameToTheBit) {
  for (const int ranks : {1, 3})
    for (const char* model : {"gcn", "sage", "gat", "rgcn"}) {
      MiniBatchSettings settings{.batch = 20, .fanouts = {4, 3, 2}};
      Problem host;
      if (model == std::string("rgcn")) {
        host = testing::typed_problem(testing::typed_dataset(101, 700, 24, 5, true), ranks,
                                      testing::batches_of(settings), 3);
      } else {
        host = make_problem(random_dataset(101, 700, 24, 5, true), ranks,
                            testing::batches_of(settings));
        host.model = model_with(model_type(model), 3, false, 0.2);
      }
      host.train.epochs = 3;
      Problem device = host;
      settings.relabel = RelabelOn::device;
      device.strategy = testing::batches_of(settings);

      EXPECT_EQ(losses(execute(device, "cuda")), losses(execute(host, "cuda")));
      EXPECT_EQ(losses(execute(device, "cpu")), losses(execute(host, "cpu")));
    }
}

TEST(OnGpuWithoutOverlap, TheSameBitsComeOut) {
  Problem problem = make_problem(random_dataset(60, 300, 12, 4, true), 4, "full_graph");
  problem.train.epochs = 4;
  Problem serial = problem;
  serial.strategy.overlap = false;

  EXPECT_EQ(losses(execute(problem, "cuda")), losses(execute(serial, "cuda")));
}

}  // namespace
}  // namespace orrery
