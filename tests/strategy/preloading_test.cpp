// Shared preloading, sampled and in co-batches, against sets and losses found in other ways.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "core/base/index.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/runtime/summary.hpp"
#include "core/sample/expansion_sampling.hpp"
#include "core/strategy/config/preloading_settings.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/preloaded_rank.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/strategy/expect_near.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

StrategyConfig preloading(int ranks_per_server) {
  StrategyConfig config;
  config.type = "shared_preloading";
  config.ranks_per_server = ranks_per_server;
  return config;
}

/// A problem without dropout, whose losses so are functions of the structure alone.
Problem problem_on(const std::shared_ptr<const Dataset>& data, int ranks,
                   const StrategyConfig& config, int layers = 3) {
  Problem p = make_problem(data, ranks, config);
  p.model.layers = layers;
  p.model.dropout = 0;
  p.train.epochs = 6;
  return p;
}

// ---- closures and what is computed on each level

/// The vertices whose value on level `level` some vertex of `own` depends on, by definition.
std::set<Vertex> needed(const Csr& graph, std::set<Vertex> own, int layers, int level) {
  for (int l = layers; l > level; --l) {
    std::set<Vertex> below = own;
    for (const Vertex v : own)
      for (const Vertex u : graph.row(v)) below.insert(u);
    own = std::move(below);
  }
  return own;
}

class Levels : public ::testing::TestWithParam<bool> {};  // symmetric or directed

TEST_P(Levels, HoldWhatOwnVerticesDependOnAndNoMoreOnceInEachServer) {
  const auto data = random_dataset(60, 90, 3, 3, GetParam());
  const int layers = 4;
  const Problem p = problem_on(data, 6, preloading(2), layers);
  const ServerSubgraphs servers(p);
  const auto owned = p.partition.members();

  for (int server = 0; server < 3; ++server) {
    const std::set<Vertex> own(owned[static_cast<std::size_t>(server)].begin(),
                               owned[static_cast<std::size_t>(server)].end());
    for (int level = 0; level <= layers; ++level) {
      std::vector<Vertex> held;
      for (int rank = 2 * server; rank < 2 * server + 2; ++rank) {
        const auto part = make_preloaded_rank(servers, rank, 0, 0, layers, p.strategy, nullptr);
        const auto& vertices = *part->vertices.numbers();
        held.insert(held.end(), vertices.begin(),
                    vertices.begin() + part->rows[static_cast<std::size_t>(level)]);
      }
      const std::set<Vertex> distinct(held.begin(), held.end());
      EXPECT_EQ(distinct.size(), held.size()) << "a vertex is with two ranks of server " << server;
      EXPECT_EQ(distinct, needed(*data->graph, own, layers, level)) << "level " << level;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Graphs, Levels, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Symmetric" : "Directed"; });

TEST(Preloading, CountsWhatIsComputedTwice) {
  const auto data = random_dataset(60, 90, 3, 3, true);
  const int layers = 3;
  const Problem p = problem_on(data, 4, preloading(2), layers);
  std::int64_t computed = 0, preloaded = 0;
  for (const auto& owned : p.partition.members()) {
    const std::set<Vertex> own(owned.begin(), owned.end());
    for (int level = 1; level <= layers; ++level)
      computed += std::ssize(needed(*data->graph, own, layers, level));
    preloaded += std::ssize(needed(*data->graph, own, layers, 0)) - std::ssize(own);
  }

  const Redundancy found = *make_strategy(p)->redundancy();

  EXPECT_EQ(found.vertices_owned, 60 * layers);
  EXPECT_EQ(found.vertices_computed, computed);
  EXPECT_EQ(found.rows_preloaded, preloaded);
  EXPECT_GT(found.of_edges(), 1);
}

TEST(Preloading, OnlyGradientsTravelBetweenServers) {
  for (const int batches : {1, 3}) {
    StrategyConfig config = preloading(2);
    config.batches = batches;
    Problem p = problem_on(random_dataset(80, 300, 5, 3, true), 4, config);
    p.train.epochs = 2;
    const auto programs = record_training(*make_strategy(p), p, 2, {});
    double inside = 0;
    for (const Program& program : programs) {
      const Summary s = summarise(program, Placement::uniform(2, 2));
      for (const auto& [kind, totals] : s.epoch.by_kind) {
        EXPECT_EQ(totals.external > 0, kind == "all_reduce") << kind;
        if (kind == "all_to_all_v") inside += totals.internal;
      }
      EXPECT_GT(s.epoch.by_kind.at("all_reduce").external, 0);
      EXPECT_EQ(s.epoch.by_kind.at("all_reduce").count, batches);
    }
    EXPECT_GT(inside, 0);
  }
}

// ---- co-batches

/// With a learning rate of next to nothing the steps of an epoch add up to one over the graph.
TEST(CoBatches, ShareOutTheTargets) {
  const auto data = random_dataset(80, 300, 5, 3, false);
  Problem whole = problem_on(data, 1, {});
  whole.train.learning_rate = 1e-12;
  for (const auto& [batches, ranks_per_server] : {std::pair{2, 1}, {3, 2}, {50, 2}}) {
    StrategyConfig config = preloading(ranks_per_server);
    config.batches = batches;
    Problem p = problem_on(data, 2 * ranks_per_server, config);
    p.train.learning_rate = 1e-12;

    const Outcome got = execute(p);

    expect_near(losses(got), losses(execute(whole)));
    EXPECT_EQ(got.epochs.back().scores->test, execute(whole).epochs.back().scores->test);
  }
}

TEST(CoBatches, LearnTheSameHoweverManyRanksAServerHas) {
  const auto data = random_dataset(80, 300, 5, 3, true);
  const auto with = [&](int ranks_per_server) {
    StrategyConfig config = preloading(ranks_per_server);
    config.batches = 3;
    return losses(execute(problem_on(data, 2 * ranks_per_server, config)));
  };
  expect_near(with(3), with(1));
}

/// The ranks of a server compute one batch together, of neighbours that are drawn for it anew in every
/// epoch: how many they are changes nothing that is learned.
TEST(CoBatches, OfDrawnNeighboursLearnTheSameHoweverManyRanksAServerHas) {
  const auto data = random_dataset(120, 900, 5, 3, true);
  const auto with = [&](int ranks_per_server, bool every_epoch) {
    StrategyConfig config = preloading(ranks_per_server);
    config.batches = 3;
    config.sampling = SamplingConfig{{2, 2, ExpansionRule::granndis_artifact}, every_epoch};
    return losses(execute(problem_on(data, 2 * ranks_per_server, config)));
  };
  expect_near(with(3, true), with(1, true));
  EXPECT_NE(with(1, true), with(1, false));
}

// ---- sampling

TEST(Sampling, OfEverythingIsExact) {
  const auto data = random_dataset(60, 240, 5, 3, true);
  StrategyConfig config = preloading(2);
  config.sampling = SamplingConfig{{3, 1000, ExpansionRule::connections}, false};
  config.degrees = Degrees::original;

  expect_near(losses(execute(problem_on(data, 4, config))),
              losses(execute(problem_on(data, 1, {}))));
}

/// A server's part as a data set of its own, in which only own vertices are in a split.
std::shared_ptr<const Dataset> induced_dataset(const Dataset& data, const std::vector<Vertex>& own,
                                               const std::vector<Vertex>& external) {
  std::vector<Vertex> vertices = own;
  vertices.insert(vertices.end(), external.begin(), external.end());
  std::map<Vertex, Vertex> local;
  for (const Vertex v : vertices) local.emplace(v, static_cast<Vertex>(local.size()));
  auto part = std::make_shared<Dataset>();
  part->name = "induced";
  part->symmetric = data.symmetric;
  part->labels.classes = data.labels.classes;
  EdgeList edges;
  edges.vertices = std::ssize(vertices);
  for (const Vertex v : vertices) {
    for (const Vertex u : data.graph->row(v))
      if (local.contains(u)) {
        edges.source.push_back(local.at(u));
        edges.destination.push_back(local.at(v));
      }
    const auto at = static_cast<std::size_t>(v);
    part->labels.values.push_back(data.labels.values[at]);
    part->split.push_back(local.at(v) < std::ssize(own) ? data.split[at] : Split::none);
  }
  part->graph = std::make_shared<const Csr>(build_csr(edges));
  const std::int64_t width = data.features->width();
  std::vector<float> values(vertices.size() * static_cast<std::size_t>(width));
  data.features->read(vertices, 0, width, values.data(), width);
  part->features = dense_features(edges.vertices, width, std::move(values), "rows", true);
  return part;
}

class Sampled : public ::testing::TestWithParam<std::tuple<bool, ExpansionRule>> {};

TEST_P(Sampled, LossIsThatOfTheInducedGraphsOfTheServers) {
  const auto [symmetric, rule] = GetParam();
  const auto data = random_dataset(60, 240, 5, 3, symmetric);
  StrategyConfig config = preloading(2);
  config.sampling = SamplingConfig{{2, 2, rule}, false};
  Problem p = problem_on(data, 4, config);
  p.train.epochs = 1;
  double weighted = 0, targets = 0;
  for (const auto& own : p.partition.members()) {
    const auto external =
        sample_expansion(*data->graph, own, config.sampling->expansion, p.train.seed, 0);
    Problem alone = problem_on(induced_dataset(*data, own, external), 1, {});
    alone.train.epochs = 1;
    const auto n = static_cast<double>(alone.facts().training_vertices);
    weighted += n * losses(execute(alone)).front();
    targets += n;
  }

  expect_near(losses(execute(p)), {weighted / targets});
}
INSTANTIATE_TEST_SUITE_P(Graphs, Sampled,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(ExpansionRule::connections,
                                                              ExpansionRule::granndis_artifact)));

// Like the public code of GraNNDis: sums over all that servers hold, whose mean over ranks is
// taken.
TEST(Sampling, OfHeldTargetsLearnsFromAllThatServersHold) {
  const auto data = random_dataset(60, 240, 5, 3, true);
  StrategyConfig config = preloading(2);
  config.sampling = SamplingConfig{{1, 3, ExpansionRule::granndis_artifact}, false};
  config.own = PreloadingSettings{true};
  config.evaluate_on = EvaluateOn::graph;
  Problem p = problem_on(data, 4, config);
  p.partition = partition_graph(*data->graph, 2, {"training_block", "", 0}, data->split);
  p.train.epochs = 2;
  p.train.optimizer = OptimizerType::sgd;  // which knows the scale of a gradient
  p.train.learning_rate = 1e-3;
  const auto training = static_cast<double>(p.facts().training_vertices);
  // The servers' graphs beside each other, without edges between them, are one data set.
  auto both = std::make_shared<Dataset>(*data);
  EdgeList edges;
  std::vector<Vertex> rows;
  both->labels.values.clear();
  both->split.clear();
  for (const auto& own : p.partition.members()) {
    std::vector<Vertex> held =
        sample_expansion(*data->graph, own, config.sampling->expansion, p.train.seed, 0);
    held.insert(held.end(), own.begin(), own.end());
    std::map<Vertex, Vertex> local;
    for (const Vertex v : held) {
      local[v] = static_cast<Vertex>(rows.size());
      rows.push_back(v);
      both->labels.values.push_back(data->labels.values[at(v)]);
      both->split.push_back(data->split[at(v)]);
    }
    for (const Vertex v : held)
      for (const Vertex u : data->graph->row(v))
        if (local.contains(u)) {
          edges.source.push_back(local[u]);
          edges.destination.push_back(local[v]);
        }
  }
  edges.vertices = std::ssize(rows);
  both->graph = std::make_shared<const Csr>(build_csr(edges));
  const std::int64_t width = data->features->width();
  std::vector<float> values(rows.size() * at(width));
  data->features->read(rows, 0, width, values.data(), width);
  both->features = dense_features(edges.vertices, width, std::move(values), "rows", true);
  Problem alone = problem_on(both, 1, {});
  alone.train = p.train;
  const auto held = static_cast<double>(alone.facts().training_vertices);
  alone.train.learning_rate *= held / 4;  // a sum over 4 ranks, where one rank takes the mean

  auto want = losses(execute(alone));

  EXPECT_GT(held, training);
  for (double& loss : want) loss *= held / training;
  expect_near(losses(execute(p)), want);
}

TEST(Sampling, IsDrawnAnewInEveryEpochOrOnce) {
  const auto data = random_dataset(80, 800, 5, 3, true);
  const auto run = [&](bool every_epoch, int ranks_per_server) {
    StrategyConfig config = preloading(ranks_per_server);
    config.sampling = SamplingConfig{{1, 1, ExpansionRule::connections}, every_epoch};
    config.evaluate_on = EvaluateOn::graph;
    Problem p = problem_on(data, 2 * ranks_per_server, config);
    p.train.learning_rate = 1e-12;
    return losses(execute(p));
  };
  const auto once = run(false, 1), anew = run(true, 1);

  EXPECT_NEAR(once.front(), once.back(), 1e-6);
  EXPECT_EQ(anew.front(), once.front());
  EXPECT_GT(std::abs(anew[1] - anew[0]), 1e-5);
  expect_near(run(true, 2), anew);
  EXPECT_EQ(run(true, 2), run(true, 2));
}

TEST(Sampling, IsEvaluatedOnTheWholeGraph) {
  const auto data = random_dataset(80, 800, 5, 3, true);
  const auto scores = [&](const StrategyConfig& config, int ranks) {
    Problem p = problem_on(data, ranks, config);
    p.train.learning_rate = 1e-12;
    p.train.epochs = 1;
    return *execute(p).epochs.front().scores;
  };
  StrategyConfig config = preloading(2);
  config.sampling = SamplingConfig{{1, 1, ExpansionRule::connections}, true};
  config.batches = 2;
  config.evaluate_on = EvaluateOn::graph;

  EXPECT_EQ(scores(config, 4).test, scores({}, 1).test);
  EXPECT_EQ(scores(config, 4).train, scores({}, 1).train);
}

}  // namespace
}  // namespace orrery
