// Inductive training against training on a graph that is made of the training vertices by brute
// force.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/training_graph.hpp"
#include "core/partition/grow.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/full_graph.hpp"
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

std::shared_ptr<const ProblemData> in_memory(std::shared_ptr<const Dataset> data) {
  ProblemData whole;
  whole.data = std::move(data);
  return std::make_shared<const ProblemData>(std::move(whole));
}

Problem inductive(const std::shared_ptr<const Dataset>& whole, int ranks,
                  const StrategyConfig& strategy) {
  Problem p =
      make_problem(std::make_shared<const Dataset>(training_graph(*whole)), ranks, strategy);
  p.whole = in_memory(whole);
  p.whole_partition = grow(p.partition, training_vertices(*whole), *whole->graph);
  p.train.epochs = 4;
  return p;
}

/// Every edge whose ends are both trained on, under the places of its ends among such vertices.
std::shared_ptr<const Dataset> by_brute_force(const Dataset& whole) {
  const auto trained = [&](std::int64_t v) { return whole.split[at(v)] == Split::train; };
  const auto place = [&](std::int64_t v) {
    return static_cast<Vertex>(
        std::count(whole.split.begin(), whole.split.begin() + v, Split::train));
  };
  auto data = std::make_shared<Dataset>();
  data->name = whole.name;
  data->symmetric = whole.symmetric;
  EdgeList edges;
  edges.vertices = place(whole.vertices());
  std::vector<float> features(at(edges.vertices * whole.features->width()));
  for (std::int64_t v = 0; v < whole.vertices(); ++v) {
    if (!trained(v)) continue;
    for (const Vertex u : whole.graph->row(v))
      if (trained(u)) {
        edges.source.push_back(place(u));
        edges.destination.push_back(place(v));
      }
    const std::vector<Vertex> row{static_cast<Vertex>(v)};
    const std::int64_t width = whole.features->width();
    whole.features->read(row, 0, width, features.data() + place(v) * width, width);
    data->labels.values.push_back(whole.labels.values[at(v)]);
  }
  data->graph = std::make_shared<const Csr>(build_csr(edges));
  data->features = dense_features(edges.vertices, whole.features->width(), features, "rows", true);
  data->labels.classes = whole.labels.classes;
  data->split.assign(at(edges.vertices), Split::train);
  return data;
}

std::vector<testing::NamedStrategy> strategies() {
  auto all = testing::all_strategies();
  for (const auto& more : {testing::local_model_strategies(), testing::inexact_strategies()})
    all.insert(all.end(), more.begin(), more.end());
  // which has the edges of one graph alone
  std::erase_if(all, [](const auto& s) { return s.config.type == "vertex_cut"; });
  return all;
}

class Inductive : public ::testing::TestWithParam<testing::NamedStrategy> {
 protected:
  static Problem problem(const std::shared_ptr<const Dataset>& whole) {
    return inductive(whole, 4, GetParam().config);
  }
};

TEST_P(Inductive, LearnsToTheBitWhatTheTrainingVerticesTeach) {
  for (const bool symmetric : {true, false}) {
    const auto whole = random_dataset(90, 500, 12, 4, symmetric);
    const Problem p = problem(whole);
    Problem alone = p;
    alone.data = by_brute_force(*whole);
    alone.whole.reset();

    EXPECT_EQ(losses(execute(p)), losses(execute(alone))) << symmetric;
  }
}

/// With weights that stay as they are drawn.
TEST_P(Inductive, EvaluatesOnTheWholeGraph) {
  if (GetParam().config.type == "model_averaging" && GetParam().config.hops < 3)
    return;  // evaluates on what its parts hold
  const auto whole = random_dataset(90, 500, 12, 4, true);
  Problem p = problem(whole);
  Problem transductive = make_problem(whole, 1, "full_graph");
  for (Problem* each : {&p, &transductive}) {
    each->train.learning_rate = 1e-30;
    each->train.epochs = 1;
  }

  const Outcome got = execute(p), want = execute(transductive);

  const auto scores = *got.epochs.back().scores, all = *want.epochs.back().scores;
  EXPECT_NEAR(*scores.train, *all.train, 0.02);
  EXPECT_NEAR(*scores.validation, *all.validation, 0.06) << "a vertex of eighteen";
  EXPECT_NEAR(*scores.test, *all.test, 0.06);
}

TEST_P(Inductive, IsRecordedAsItRunsAndPassesTheCheck) {
  Problem p = problem(random_dataset(50, 250, 12, 4, false));
  p.train.epochs = 3;

  testing::expect_as_recorded(p);
}

TEST_P(Inductive, HoldsTheTrainingGraphAloneWhereNothingIsEvaluated) {
  const auto whole = random_dataset(90, 500, 12, 4, true);
  Problem p = problem(whole);
  p.train.eval_every = 0;
  p.whole_partition = {};
  Problem alone = p;
  alone.whole.reset();

  const auto peaks = [](const Problem& problem) {
    std::vector<std::int64_t> bytes;
    for (const Program& program : record_training(*make_strategy(problem), problem, 2, {}))
      bytes.push_back(program.peak_bytes[0]);
    return bytes;
  };
  EXPECT_EQ(peaks(p), peaks(alone));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Inductive, ::testing::ValuesIn(strategies()),
                         [](const auto& each) { return each.param.name; });

/// Rows that are kept from epoch to epoch outlive an evaluation on the whole graph.
TEST(InductiveTraining, WithStaleRowsLearnsTheSameWhetherItIsEvaluatedOrNot) {
  StrategyConfig smoothed, columns;
  smoothed.staleness = 1;
  smoothed.own = StaleSmoothing{.features = 0.9, .gradients = 0.9};
  columns.type = "spmm_1d";
  columns.staleness = 2;
  for (const StrategyConfig& stale : {smoothed, columns}) {
    Problem p = inductive(random_dataset(50, 250, 12, 4, true), 2, stale);
    p.train.epochs = 6;
    Problem alone = p;
    alone.train.eval_every = 0;

    EXPECT_EQ(losses(execute(p)), losses(execute(alone)));
  }
}

/// Nothing is kept for a backward pass while the whole graph is evaluated.
TEST(InductiveTraining, HasATapeOfTheTrainingGraphAlone) {
  Problem p = inductive(random_dataset(90, 500, 12, 4, true), 2, {});
  p.strategy.memory = Memory::autograd;
  Problem alone = p;
  alone.whole.reset();
  const auto tape = [](const Problem& problem) {
    return record_training(*make_strategy(problem), problem, 2, {})
        .front()
        .peak_by_class.at("tape");
  };

  EXPECT_EQ(tape(p), tape(alone));
}

/// Ranks that share a program do the same on both graphs: 7 and 10 vertices on 4 ranks.
TEST(InductiveTraining, OfStatisticsSharesProgramsOfRanksThatAreAlikeOnBothGraphs) {
  ProblemData whole;
  whole.statistics = {.name = "made up",
                      .vertices = 10,
                      .edges = 40,
                      .features = 6,
                      .classes = 3,
                      .training_vertices = 7};
  Problem p;
  p.strategy.type = "spmm_1d";
  p.statistics = training_graph(*whole.statistics);
  p.whole = std::make_shared<const ProblemData>(whole);
  p.partition.parts = p.whole_partition.parts = 4;
  p.train.epochs = 2;
  const auto strategy = make_strategy(p);

  const auto programs = record_training(*strategy, p, 2, {});

  int shared = 0;
  for (int r = 0; r < 4; ++r) {
    const int first = strategy->representative(r);
    shared += first == r ? 0 : 1;
    const Summary own = summarise(programs[at(r)], Placement::uniform(1, 4)),
                  other = summarise(programs[at(first)], Placement::uniform(1, 4));
    EXPECT_EQ(own.epoch.sum().flops, other.epoch.sum().flops) << r;
    EXPECT_EQ(own.evaluation.sum().flops, other.evaluation.sum().flops) << r;
    EXPECT_EQ(own.peak_device_bytes, other.peak_device_bytes) << r;
  }
  EXPECT_LT(shared, 3) << "sizes 1 2 2 2 and 2 3 2 3 are three kinds of ranks";
}

}  // namespace
}  // namespace orrery
