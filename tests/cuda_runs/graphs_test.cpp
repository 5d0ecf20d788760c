// Runs whose epochs are launched as CUDA graphs, against the same runs one operation at a time.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/error.hpp"
#include "core/strategy/make_strategy.hpp"
#include "tests/cuda/library.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::losses;
using testing::make_problem;
using testing::random_dataset;

Outcome execute(const Problem& problem, bool graphs, std::int64_t device_bytes = kUnlimited) {
  ExecuteOptions options;
  options.kernels = "cuda";
  options.cuda_graph = graphs;
  options.guard_bytes = 64;
  options.timeline_epochs = {0, problem.train.epochs};
  options.capacities.bytes[static_cast<std::size_t>(Space::device)] = device_bytes;
  return execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});
}

/// Operations of a kind on the compute lane in one epoch, and whether graphs were among them.
struct Launches {
  std::int64_t spans = 0, graphs = 0;
};
Launches launches(const Outcome& outcome, int epoch) {
  Launches found;
  for (const Span& span : outcome.ranks.front().timeline.spans)
    if (span.phase.epoch == epoch && span.phase.in_epoch() && span.lane == Lane::compute) {
      ++found.spans;
      if (span.kind == "graph") ++found.graphs;
    }
  return found;
}

Problem problem_of(const StrategyConfig& strategy, int ranks) {
  Problem problem = make_problem(random_dataset(101, 700, 24, 5, true), ranks, strategy);
  problem.train.epochs = 5;
  problem.model.layers = 3;
  problem.model.dropout = 0.3;
  return problem;
}

struct GraphCase {
  testing::NamedStrategy strategy;
  int ranks;
};
class GraphsOf : public ::testing::TestWithParam<GraphCase> {};

TEST_P(GraphsOf, GiveTheBitsOfOperationsOneByOne) {
  const Problem problem = problem_of(GetParam().strategy.config, GetParam().ranks);

  const Outcome want = execute(problem, false), got = execute(problem, true);

  EXPECT_EQ(losses(got), losses(want));
  for (std::size_t r = 0; r < want.ranks.size(); ++r) {
    EXPECT_EQ(got.ranks[r].received_from, want.ranks[r].received_from);
    EXPECT_EQ(got.ranks[r].final_bytes, want.ranks[r].final_bytes);
  }
}

std::vector<GraphCase> graph_cases() {
  std::vector<GraphCase> list;
  for (const auto& some : {testing::all_strategies(), testing::local_model_strategies(),
                           testing::inexact_strategies()})
    for (const auto& each : some) {
      list.push_back({each, 4});
      const bool on_one = each.config.replication == 1 && each.config.ranks_per_server == 1 &&
                          each.config.parts == 0;
      if (on_one) list.push_back({each, 1});
    }
  return list;
}
INSTANTIATE_TEST_SUITE_P(All, GraphsOf, ::testing::ValuesIn(graph_cases()), [](const auto& each) {
  return each.param.strategy.name + "On" + std::to_string(each.param.ranks);
});

TEST(Graphs, AStepOfOneRankIsAFewLaunches) {
  const Outcome outcome = execute(problem_of({}, 1), true);

  const Launches first = launches(outcome, 0), third = launches(outcome, 2),
                 last = launches(outcome, 4);
  EXPECT_EQ(first.graphs, 0);
  EXPECT_GE(third.graphs, 1);
  EXPECT_LE(third.spans, 3);
  EXPECT_EQ(last.spans, third.spans);
}

TEST(Graphs, StopsAtWhatOtherLanesWaitFor) {
  const Outcome outcome = execute(problem_of({}, 4), true);

  const Launches last = launches(outcome, 4), first = launches(outcome, 0);
  EXPECT_GE(last.graphs, 3);
  EXPECT_LT(last.spans, first.spans);
}

TEST(Graphs, AreRememberedForAllLayersOfADeepModel) {
  Problem problem = make_problem(random_dataset(20, 60, 8, 3, true), 2, StrategyConfig{});
  problem.train.epochs = 4;
  problem.model.type = ModelType::resgcn;
  problem.model.layers = 40;
  problem.model.hidden = 8;

  const Outcome outcome = execute(problem, true);

  EXPECT_GT(launches(outcome, 3).graphs, 70);
}

TEST(Graphs, AnOperationThatFailsLaterIsNamed) {
  if (!std::string(std::getenv("ORRERY_CUDA_LIBRARY")).ends_with(ORRERY_EMULATED_LIBRARY))
    GTEST_SKIP() << "a GPU fails at nobody's command";
  for (const int launch : {40, 90}) {  // one by one, and in a graph
    testing::emulate_failing_launch(launch);
    try {
      execute(problem_of({}, 1), true);
      ADD_FAILURE() << "launch " << launch << " did not fail";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("the GPU failed"), std::string::npos) << text;
      EXPECT_NE(text.find("(in "), std::string::npos) << text;
      EXPECT_NE(text.find("epoch "), std::string::npos) << text;
    }
    testing::emulate_failing_launch(0);
  }
}

TEST(Graphs, WithoutThemEveryOperationIsItsOwn) {
  const Outcome outcome = execute(problem_of({}, 1), false);
  for (int epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(launches(outcome, epoch).graphs, 0);
}

/// Patterns that come anew in every epoch may lie where those of the last one lay.
TEST(Graphs, KnowThatAPatternIsAnotherOne) {
  StrategyConfig strategy;
  strategy.type = "shared_preloading";
  strategy.ranks_per_server = 2;
  strategy.sampling = SamplingConfig{.expansion = {.hops = 1, .fanout = 2}, .every_epoch = true};
  const Problem problem = problem_of(strategy, 4);

  EXPECT_EQ(losses(execute(problem, true)), losses(execute(problem, false)));
}

/// If there is room for little more than the tensors of the moment, runs end when the host waits
/// for memory.
TEST(Graphs, FitWhereOperationsFit) {
  Problem problem = problem_of({}, 1);
  const std::int64_t peak = execute(problem, false).ranks.front().summary.peak_device_bytes;

  EXPECT_EQ(losses(execute(problem, true, peak)), losses(execute(problem, false)));
}

}  // namespace
}  // namespace orrery
