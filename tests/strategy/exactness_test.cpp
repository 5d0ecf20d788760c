// The loss must not depend on how the work is distributed.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

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

ModelConfig model_with(ModelType type, int layers, bool norm) {
  ModelConfig model;
  model.type = type;
  model.layers = layers;
  model.hidden = 16;
  model.dropout = 0.3;
  model.layer_norm = norm;
  return model;
}
ModelConfig widening(ModelConfig model) {
  model.hidden = 40;
  return model;
}
ModelConfig in_order(LayerOrder order, ModelConfig model) {
  model.order = order;
  return model;
}
ModelConfig then_dense(int layers, ModelConfig model) {
  model.dense_layers = layers;
  return model;
}
ModelConfig with_inner(int layers, ModelConfig model) {
  model.inner_layers = layers;
  return model;
}
ModelConfig with_batch_norm(ModelConfig model) {
  model.layer_norm = false;
  model.batch_norm = true;
  return model;
}
ModelConfig without_dropout(ModelConfig model) {
  model.dropout = 0;
  return model;
}

struct NamedModel {
  std::string name;
  ModelConfig config;
  bool symmetric;
  int epochs = 20;
};

/// Networks that differ in what they aggregate first, keep and normalise.
const std::vector<NamedModel>& models() {
  static const std::vector<NamedModel> list{
      {"TwoLayerGcnOnSymmetricGraph", model_with(ModelType::gcn, 2, false), true},
      {"ThreeLayerGcnWithNormOnDirectedGraph", model_with(ModelType::gcn, 3, true), false},
      {"GcnThatWidensAggregatesFirst", widening(model_with(ModelType::gcn, 3, false)), false},
      {"SageThatWidensAggregatesFirst", widening(model_with(ModelType::sage, 3, false)), true},
      {"SageWithNormOnDirectedGraph", model_with(ModelType::sage, 3, true), false},
      {"AggregatedInputOfTheFirstLayerIsKept",
       without_dropout(model_with(ModelType::gcn, 2, false)), true},
      {"AggregatedInputOfAWideningSageIsKept",
       widening(without_dropout(model_with(ModelType::sage, 2, false))), false},
      {"SageThatNarrowsAggregatesFirst",
       in_order(LayerOrder::aggregate_first, model_with(ModelType::sage, 3, false)), false, 5},
      {"AggregatedInputOfAGcnThatAggregatesFirstIsKept",
       in_order(LayerOrder::aggregate_first, without_dropout(model_with(ModelType::gcn, 2, false))),
       true, 5},
      {"GcnThatWidensTransformsFirst",
       in_order(LayerOrder::transform_first, widening(model_with(ModelType::gcn, 3, false))), false,
       5},
      {"GcnThatAggregatesBothWays",
       in_order(LayerOrder::aggregate_both, model_with(ModelType::gcn, 3, false)), false, 5},
      {"TwoGcnAndTwoDenseLayers", then_dense(2, model_with(ModelType::gcn, 2, true)), true, 5},
      {"SageWithBatchNorm", with_batch_norm(model_with(ModelType::sage, 3, false)), false, 10},
      {"GcnWithBatchNormAndADenseLayer",
       with_batch_norm(then_dense(1, model_with(ModelType::gcn, 2, false))), true, 5},
      {"SageWithADenseLayerInside", with_inner(1, model_with(ModelType::sage, 3, false)), true, 5},
      {"GcnWithTwoDenseLayersInsideThatWidens",
       with_inner(2, widening(model_with(ModelType::gcn, 2, true))), true, 10},
      {"EightLayers", model_with(ModelType::gcn, 8, true), true},
      {"FirstStepOfThirtyLayers", model_with(ModelType::sage, 30, true), true, 2}};
  return list;
}

struct ExactnessCase {
  testing::NamedStrategy strategy;
  int ranks;
  std::string kernels;
  NamedModel model;
};

class Exactness : public ::testing::TestWithParam<ExactnessCase> {
 protected:
  static Problem problem(const StrategyConfig& strategy, int ranks) {
    const NamedModel& model = GetParam().model;
    Problem made = make_problem(random_dataset(101, 700, 24, 5, model.symmetric), ranks, strategy);
    made.model = model.config;
    // Columns that are split cannot be normalised along rows.
    if (GetParam().strategy.config.type == "spmm_2d") made.model.layer_norm = false;
    if (!info_of(GetParam().strategy.config).sums_over_vertices) made.model.batch_norm = false;
    made.train.epochs = model.epochs;
    return made;
  }
  /// One rank's result is the same for every strategy and number of ranks.
  static const Outcome& of_one_rank() {
    static std::map<std::tuple<std::string, bool, bool>, Outcome> done;
    const Problem alone = problem({}, 1);
    const std::tuple key{GetParam().model.name, alone.model.layer_norm, alone.model.batch_norm};
    const auto known = done.find(key);
    return known != done.end() ? known->second : done.emplace(key, execute(alone)).first->second;
  }
};

TEST_P(Exactness, LossesAreThoseOfOneRank) {
  const Outcome& want = of_one_rank();

  const Outcome got =
      execute(problem(GetParam().strategy.config, GetParam().ranks), GetParam().kernels);

  expect_equal_losses(got, want);
  EXPECT_NEAR(*got.epochs.back().scores->test, *want.epochs.back().scores->test, 0.05);
  EXPECT_LT(*want.epochs.back().loss, *want.epochs.front().loss);
}

/// Of 17 columns the ranks of a side of four have 8, 8, 1 and 0, and of 16 they have 8, 0, 8 and 0.
TEST(SpmmTwoD, HasRoomForTheColumnsOfANarrowerMatrix) {
  StrategyConfig grid;
  grid.type = "spmm_2d";
  grid.first_layer = FirstLayer::recompute;
  const auto problem = [](const StrategyConfig& strategy, int ranks) {
    Problem made = make_problem(random_dataset(101, 700, 17, 16, true), ranks, strategy);
    made.model = in_order(LayerOrder::aggregate_both, model_with(ModelType::gcn, 1, false));
    made.train.epochs = 3;
    return made;
  };

  expect_equal_losses(execute(problem(grid, 16)), execute(problem({}, 1)));
}

/// Numbers of ranks on which a strategy is tried.
std::vector<int> worlds(const StrategyConfig& strategy) {
  if (strategy.type == "spmm_2d") return {1, 4, 9};
  if (strategy.type == "spmm_15d" || strategy.ranks_per_server == 2) return {4, 6, 8};
  return {1, 2, 3, 4, 5, 6, 7, 8};
}

/// Every strategy on each of its worlds, every strategy with every model, every model on every
/// number of ranks: pairs instead of the whole product. The fast kernels take a turn with each
/// model too.
std::vector<ExactnessCase> exactness_cases() {
  constexpr std::size_t kTurns = 3;  // each strategy and world has every third model
  std::vector<ExactnessCase> list;
  std::size_t first = 0;
  for (const auto& strategy : testing::all_strategies()) {
    std::size_t turn = first++;
    const auto add = [&](int ranks, const std::string& kernels) {
      for (std::size_t m = turn++ % kTurns; m < models().size(); m += kTurns)
        list.push_back({strategy, ranks, kernels, models()[m]});
    };
    for (const int ranks : worlds(strategy.config)) add(ranks, "reference");
    add(4, "cpu");
  }
  return list;
}

TEST(ExactnessCases, HaveEveryPairOfStrategyRanksAndModel) {
  std::set<std::pair<std::string, std::string>> with_model;
  std::set<std::pair<int, std::string>> on_ranks;
  std::set<std::string> on_fast_kernels;
  for (const ExactnessCase& c : exactness_cases()) {
    with_model.emplace(c.strategy.name, c.model.name);
    on_ranks.emplace(c.ranks, c.model.name);
    if (c.kernels == "cpu") on_fast_kernels.insert(c.model.name);
  }

  EXPECT_EQ(with_model.size(), testing::all_strategies().size() * models().size());
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (const NamedModel& model : models())
      EXPECT_TRUE(on_ranks.contains({ranks, model.name})) << model.name << " on " << ranks;
  EXPECT_EQ(on_fast_kernels.size(), models().size());
}

std::string name_of_exactness(const ::testing::TestParamInfo<ExactnessCase>& info) {
  return info.param.strategy.name + std::to_string(info.param.ranks) + "Ranks_" +
         info.param.model.name + "_" + info.param.kernels;
}
INSTANTIATE_TEST_SUITE_P(All, Exactness, ::testing::ValuesIn(exactness_cases()), name_of_exactness);

TEST(LayerOrders, GiveTheSameLosses) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const std::int64_t hidden : {8, 40}) {
      const auto run = [&](LayerOrder order) {
        Problem p = make_problem(random_dataset(101, 700, 24, 5, false), 2, "full_graph");
        p.model = in_order(order, model_with(type, 3, false));
        p.model.hidden = hidden;
        return execute(p);
      };
      const Outcome narrower = run(LayerOrder::automatic);

      expect_equal_losses(run(LayerOrder::aggregate_first), narrower);
      expect_equal_losses(run(LayerOrder::transform_first), narrower);
    }
}

/// Settings that change the schedule but not the result.
class Schedule : public ::testing::TestWithParam<testing::NamedStrategy> {
 protected:
  static Problem problem_on(int ranks, const std::shared_ptr<const Dataset>& data,
                            const std::string& partition = "random") {
    return make_problem(data, ranks, GetParam().config, partition);
  }
  /// The same problem on one rank.
  static Problem alone(const std::shared_ptr<const Dataset>& data) {
    return make_problem(data, 1, "full_graph");
  }
};

TEST_P(Schedule, WithoutOverlapGivesTheSameLosses) {
  const auto data = random_dataset(60, 300, 12, 4, true);
  const Problem overlapped = problem_on(4, data);
  Problem serial = overlapped;
  serial.strategy.overlap = false;

  EXPECT_EQ(losses(execute(overlapped)), losses(execute(serial)));
}

TEST_P(Schedule, ColumnTilesGiveTheSameLosses) {
  const auto data = random_dataset(60, 300, 12, 4, false);
  const Problem whole = problem_on(4, data);
  Problem tiled = whole;
  tiled.strategy.column_tiles = 3;

  expect_equal_losses(execute(tiled), execute(whole));
}

TEST_P(Schedule, KeepingTheFirstAggregationOrNotGivesTheSameLosses) {
  const auto data = random_dataset(60, 300, 23, 4, false);
  Problem kept = problem_on(4, data);
  if (kept.strategy.type == "spmm_2d") return;  // which never keeps it
  kept.model.dropout = 0;
  Problem again = kept;
  again.strategy.first_layer = FirstLayer::recompute;

  expect_equal_losses(execute(kept), execute(again));
}

TEST_P(Schedule, EmptyRanksAndOneRankThatOwnsAllWork) {
  const auto data = random_dataset(40, 200, 8, 3, true);
  Problem problem = problem_on(4, data);
  const int all_of_it = problem.partition.parts - 1;
  for (auto& owner : problem.partition.owner) owner = all_of_it;

  expect_equal_losses(execute(problem), execute(alone(data)));
}

TEST_P(Schedule, MoreRanksThanVerticesWork) {
  const auto data = random_dataset(3, 6, 4, 2, true);
  const bool grid = GetParam().config.type == "spmm_2d";

  expect_equal_losses(execute(problem_on(grid ? 16 : 8, data, "block")), execute(alone(data)));
}

TEST_P(Schedule, MetisPartsWork) {
  const auto data = random_dataset(90, 500, 8, 3, false);

  expect_equal_losses(execute(problem_on(4, data, "metis")), execute(alone(data)));
}

/// Widths whose shares of columns do not shrink evenly, on parts of very different sizes.
TEST_P(Schedule, NarrowAndOddWidthsOnUnevenPartsWork) {
  for (const auto& [features, hidden, classes] :
       {std::tuple{17, 17, 16}, {24, 24, 16}, {7, 13, 5}, {1, 1, 2}}) {
    const auto data = random_dataset(52, 260, features, classes, true);
    Problem alone_ = alone(data);
    Problem problem = problem_on(GetParam().config.type == "spmm_2d" ? 25 : 4, data);
    for (Problem* p : {&alone_, &problem}) {
      p->model.hidden = hidden;
      p->model.layers = 3;
      p->train.epochs = 3;
    }
    for (auto& owner : problem.partition.owner)
      if (owner == 1 && problem.partition.parts > 2) owner = 0;

    expect_equal_losses(execute(problem), execute(alone_));
  }
}

TEST_P(Schedule, SameSeedGivesTheSameBits) {
  const auto data = random_dataset(60, 300, 12, 4, true);
  const Problem problem = problem_on(4, data);

  EXPECT_EQ(losses(execute(problem, "cpu")), losses(execute(problem, "cpu")));
}

INSTANTIATE_TEST_SUITE_P(All, Schedule, ::testing::ValuesIn(testing::all_strategies()),
                         [](const auto& param) { return param.param.name; });

TEST_P(Schedule, SgcHasTheSameLossesInEitherOrderWithKeptRowsOrNot) {
  const auto data = random_dataset(60, 300, 23, 4, true);
  const auto sgc = [](Problem p, double dropout, LayerOrder order) {
    p.model = {.type = ModelType::sgc, .layers = 3, .dropout = dropout, .order = order};
    return p;
  };
  for (const double dropout : {0.0, 0.3}) {
    const Outcome want =
        execute(sgc(alone(data), dropout, LayerOrder::transform_first), "reference");
    EXPECT_LT(losses(want).back(), losses(want).front());
    for (const LayerOrder order :
         {LayerOrder::automatic, LayerOrder::aggregate_first, LayerOrder::transform_first})
      expect_equal_losses(execute(sgc(problem_on(4, data), dropout, order)), want);
  }
}

/// A ReLU stands before and behind each: around one convolution, they are the dense layers behind it,
/// which are other code. Parameters are declared in the same order, so that they start alike.
TEST(InnerLayers, OfTheOnlyConvolutionAreTheDenseLayersBehindIt) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const bool bias : {true, false}) {
      const auto losses_with = [&](int inner, int dense) {
        Problem p = make_problem(random_dataset(60, 300, 12, 4, true), 2, StrategyConfig{});
        p.model = {.type = type, .layers = 1, .hidden = 9, .dropout = 0, .bias = bias};
        p.model.inner_layers = inner;
        p.model.dense_layers = dense;
        p.train.epochs = 6;
        return losses(execute(p));
      };
      const auto want = losses_with(0, 3), got = losses_with(2, 1);
      EXPECT_LT(want.back(), want.front());
      for (std::size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(got[e], want[e], 1e-6 * want[e]);
    }
}

/// Deep models with residual connections, on four ranks.
class DeepModels : public ::testing::TestWithParam<testing::NamedStrategy> {
 protected:
  static Problem problem(const ModelConfig& model, int ranks, const StrategyConfig& strategy) {
    Problem problem = make_problem(random_dataset(101, 700, 24, 5, true), ranks, strategy);
    problem.model = model;
    problem.train.epochs = 20;
    return problem;
  }
  static void expect_same_as_one_rank(const ModelConfig& model) {
    const Outcome want = execute(problem(model, 1, {}), "cpu");
    const Outcome got = execute(problem(model, 4, GetParam().config), "cpu");

    expect_equal_losses(got, want);
    EXPECT_LT(*want.epochs.back().loss, *want.epochs.front().loss);
  }
};

TEST_P(DeepModels, GcnWithResidualConnections) {
  ModelConfig model = model_with(ModelType::gcn, 8, false);
  model.residual = true;
  expect_same_as_one_rank(model);
}
TEST_P(DeepModels, SageWithResidualConnections) {
  ModelConfig model = model_with(ModelType::sage, 8, false);
  model.residual = true;
  expect_same_as_one_rank(model);
}
TEST_P(DeepModels, ResGcn) {
  // Layer norms of deep models let rounding grow: see docs/benchmarks.md.
  ModelConfig model = model_with(ModelType::resgcn, 8, false);
  expect_same_as_one_rank(model);
}
TEST_P(DeepModels, ResGcnThatComputesSegmentsAgain) {
  ModelConfig model = model_with(ModelType::resgcn, 8, false);
  model.recompute = 3;
  expect_same_as_one_rank(model);
}

std::vector<testing::NamedStrategy> strategies_with_whole_rows() {
  auto all = testing::all_strategies();
  std::erase_if(all, [](const auto& s) { return s.config.type == "spmm_2d"; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, DeepModels, ::testing::ValuesIn(strategies_with_whole_rows()),
                         [](const auto& each) { return each.param.name; });

TEST(Recomputing, GivesTheSameLossesToTheBitInLessMemory) {
  const auto run = [](int recompute) {
    Problem problem = make_problem(random_dataset(1200, 5000, 8, 5, true), 2, "full_graph");
    problem.model = model_with(ModelType::resgcn, 12, false);
    problem.model.recompute = recompute;
    problem.train.epochs = 4;
    return execute(problem, "cpu");
  };
  const Outcome kept = run(0);
  const auto peak = [](const Outcome& o) { return o.ranks[0].peak_bytes; };

  for (const int recompute : {1, 3, 5, 12, 40}) {
    const Outcome again = run(recompute);

    EXPECT_EQ(losses(again), losses(kept)) << recompute;
    const double share = static_cast<double>(peak(again)) / static_cast<double>(peak(kept));
    EXPECT_LE(share, recompute < 12 ? 0.75 : 1.0) << recompute;
  }
}

// Every strategy converts them as it loads them, on devices all is as it would be of 32 bits.
TEST(HalfFeatures, TrainAsTheRoundedOnesOfThirtyTwoBitsInEveryStrategy) {
  const auto exact = random_dataset(61, 350, 12, 5, true);
  const auto halves = std::make_shared<Dataset>(*exact),
             rounded = std::make_shared<Dataset>(*exact);
  halves->features = half_features(exact->features);
  std::vector<Vertex> all(61);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> values(61 * 12);
  halves->features->read(all, 0, 12, values.data(), 12);
  rounded->features = dense_features(61, 12, std::move(values), "rounded", true);
  for (const auto& strategy : testing::all_strategies()) {
    const auto of = [&](const std::shared_ptr<const Dataset>& data) {
      Problem p = make_problem(data, 4, strategy.config);
      p.train.epochs = 3;
      return losses(execute(p));
    };
    EXPECT_EQ(of(halves), of(rounded)) << strategy.name;
    EXPECT_NE(of(halves), of(exact)) << strategy.name;
  }
}

}  // namespace
}  // namespace orrery
