// Local models on parts: what they learn, when they are averaged, what they hold and move.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/base/error.hpp"
#include "core/cost/catgnn.hpp"
#include "core/partition/cross_edges.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/batches/part_batches.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/strategy/expect_near.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

using Rows = std::vector<std::vector<float>>;

StrategyConfig on_parts(Averaging averaging, int parts = 0, int workers = 0) {
  StrategyConfig config;
  config.type = "model_averaging";
  config.averaging = averaging;
  config.parts = parts;
  config.workers = workers;
  return config;
}

Problem small(const StrategyConfig& config, int ranks, bool symmetric = true) {
  Problem p = make_problem(random_dataset(90, 300, 12, 4, symmetric), ranks, config);
  p.train.epochs = 6;
  p.model.dropout = 0.3;
  return p;
}

/// The weights (and moments) that a run keeps after `epochs` epochs.
Rows state_after(const Problem& problem, int epochs) {
  Rows state;
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.checkpoint_every = epochs;
  options.keep = [&](const Checkpoint& checkpoint) {
    if (checkpoint.epochs == epochs) state = checkpoint.state;
  };
  execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});
  return state;
}

std::vector<std::int64_t> training_of_parts(const Problem& p) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(p.partition.parts), 0);
  for (std::size_t v = 0; v < p.partition.owner.size(); ++v)
    if (p.data->split[v] == Split::train) ++counts[static_cast<std::size_t>(p.partition.owner[v])];
  return counts;
}

TEST(ModelAveraging, OfOnePartOnOneWorkerIsFullGraphTrainingToTheBit) {
  for (const bool symmetric : {true, false})
    for (const ModelType type : {ModelType::gcn, ModelType::sage})
      for (const int interval : {1, 2, 5, 50}) {
        Problem part = small(on_parts(Averaging::model), 1, symmetric);
        part.strategy.interval = interval;
        Problem whole = make_problem(part.data, 1, "full_graph");
        whole.train = part.train;
        whole.model = part.model;
        whole.model.type = part.model.type = type;

        const Outcome a = execute(part), b = execute(whole);

        EXPECT_EQ(losses(a), losses(b));
        for (std::size_t e = 0; e < a.epochs.size(); ++e)
          EXPECT_EQ(a.epochs[e].scores->test, b.epochs[e].scores->test);
      }
}

/// With w' = w − η·g_r on every rank, Σ_r (n_r/N)·w' = w − η·Σ_r (n_r/N)·g_r, the step with the
/// mean gradient.
TEST(ModelAveraging, EveryEpochWithSgdIsGradientAveraging) {
  Problem models = small(on_parts(Averaging::model), 3);
  models.train.optimizer = OptimizerType::sgd;
  models.train.learning_rate = 0.5;
  Problem gradients = models;
  gradients.strategy.averaging = Averaging::gradient;

  expect_near(losses(execute(models)), losses(execute(gradients)), 1e-4);
}

TEST(ModelAveraging, WeighsModelsByTrainingVertices) {
  Problem averaged = small(on_parts(Averaging::model), 3);
  averaged.train.epochs = 2;
  Problem alone = averaged;
  alone.strategy.interval = 3;  // never in two epochs
  const auto training = training_of_parts(averaged);
  const double all = std::accumulate(training.begin(), training.end(), 0.0);

  const Rows local = state_after(alone, 1), together = state_after(averaged, 1);

  const std::size_t rows = local.size() / 3;  // weights and Adam's two moments of each rank
  ASSERT_EQ(rows, 3U);
  for (std::size_t i = 0; i < local[0].size(); ++i) {
    double want = 0;
    for (std::size_t r = 0; r < 3; ++r)
      want += static_cast<double>(training[r]) / all * local[r * rows][i];
    for (std::size_t r = 0; r < 3; ++r) EXPECT_NEAR(together[r * rows][i], want, 1e-6);
  }
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(together[r * rows + 1], local[r * rows + 1]) << "moments stay local";
    EXPECT_EQ(together[r * rows + 2], local[r * rows + 2]);
  }
  EXPECT_NE(local[0], local[rows]);
}

TEST(ModelAveraging, EvaluatesTheAverageBetweenAveragings) {
  Problem rare = small(on_parts(Averaging::model), 3);
  rare.strategy.interval = 4;
  rare.train.epochs = 3;
  Problem often = rare;
  often.strategy.interval = 3;  // the third epoch ends with the average itself

  const Outcome a = execute(rare), b = execute(often);

  EXPECT_EQ(losses(a), losses(b));
  EXPECT_EQ(a.epochs.back().scores->train, b.epochs.back().scores->train);
}

/// A part has all that its own vertices depend on: exact for L hops if rows are whole, and with
/// original degrees; the rim of L hops alone misses degrees that a symmetric A needs.
TEST(GradientsOfParts, AreThoseOfTheGraphWherePartsHoldAllDependencies) {
  struct Case {
    ModelType model;
    int hops;
    Degrees degrees;
    bool exact;
  };
  for (const Case& c : {Case{ModelType::gcn, 2, Degrees::original, true},
                        {ModelType::gcn, 2, Degrees::part, false},
                        {ModelType::gcn, 3, Degrees::part, true},
                        {ModelType::gcn, 1, Degrees::original, false},
                        {ModelType::sage, 2, Degrees::part, true},
                        {ModelType::sage, 1, Degrees::part, false}}) {
    Problem parts = small(on_parts(Averaging::gradient), 4);
    parts.strategy.hops = c.hops;
    parts.strategy.degrees = c.degrees;
    parts.model.type = c.model;
    Problem whole = make_problem(parts.data, 1, "full_graph");
    whole.train = parts.train;
    whole.model = parts.model;

    const auto a = losses(execute(parts)), b = losses(execute(whole));

    if (c.exact)
      expect_near(a, b, 1e-4);
    else
      EXPECT_GT(std::abs(a.back() - b.back()), 2e-4 * b.back());
  }
}

/// Five parts on two workers are three steps of both; the last is on one part.
TEST(GradientsOfParts, OfMorePartsThanWorkersAreMiniBatches) {
  Problem two = small(on_parts(Averaging::gradient, 5, 2), 2);
  two.strategy.hops = 2;
  two.strategy.degrees = Degrees::original;
  two.model.dropout = 0;
  Problem one = two;  // {0, 1}, {2, 3}, {4} one after the other
  one.strategy.parts = one.partition.parts = 3;
  one.strategy.workers = 1;
  for (auto& owner : one.partition.owner) owner /= 2;

  const Outcome a = execute(two), b = execute(one);

  expect_near(losses(a), losses(b), 1e-4);
  for (const Outcome* outcome : {&a, &b})
    for (const RankOutcome& rank : outcome->ranks)
      EXPECT_EQ(rank.summary.epoch.by_kind.at("all_reduce").count, 3);
}

/// Operations of the given kind in the epochs of a program.
template <class Kind>
std::vector<Kind> in_epochs(const Program& program) {
  std::vector<Kind> found;
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || !phase.in_epoch()) continue;
    if (const auto* op = std::get_if<Kind>(&submit->op)) found.push_back(*op);
  }
  return found;
}

TEST(ModelAveraging, MovesTheModelEveryIntervalAndNothingElse) {
  for (const int interval : {1, 3, 4, 20}) {
    Problem p = small(on_parts(Averaging::model), 4);
    p.strategy.interval = interval;
    p.train.epochs = 10;
    const double parameters = 12 * 16 + 16 + 16 * 4 + 4;

    const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});

    const auto averagings = cost::model_averagings(10, interval);
    for (const Program& program : programs) {
      EXPECT_EQ(static_cast<std::int64_t>(in_epochs<AllReduce>(program).size()), averagings);
      const auto sum = summarise(program, Placement::uniform(1, 4), 10).epoch.sum();
      EXPECT_NEAR(sum.internal, 4 * cost::averaging_words(averagings, parameters, 4), 1e-3);
    }
  }
}

TEST(ModelAveraging, StepsOnEachPartOfARankOnItsTrainingVerticesAlone) {
  const Problem p = small(on_parts(Averaging::model, 5, 2), 2);
  const auto training = training_of_parts(p);

  const auto programs = record_training(*make_strategy(p), p, 1, {});

  for (int rank = 0; rank < 2; ++rank) {
    const auto steps = in_epochs<Loss>(programs[static_cast<std::size_t>(rank)]);
    ASSERT_EQ(static_cast<std::int64_t>(steps.size()), cost::parts_on_gpu(5, 2, rank));
    for (std::size_t i = 0; i < steps.size(); ++i)
      EXPECT_EQ(steps[i].targets.rows(), training[static_cast<std::size_t>(rank) + 2 * i]);
  }
}

/// Features of one part, with its replicas, at a time; a rank with one part loads it once.
TEST(ModelAveraging, HoldsOnePartAtATime) {
  for (const int parts : {2, 6}) {
    Problem p = small(on_parts(Averaging::model, parts, 2), 2);
    p.strategy.hops = 0;
    const auto members = p.partition.members();

    const auto programs = record_training(*make_strategy(p), p, 2, {});

    for (std::size_t rank = 0; rank < 2; ++rank) {
      std::size_t largest = 0;
      for (std::size_t part = rank; part < members.size(); part += 2)
        largest = std::max(largest, members[part].size());
      std::size_t most = 0, held = 0, loads = 0;
      std::map<std::uint32_t, std::size_t> bytes;
      for (const Step& step : programs[rank].steps) {
        if (const auto* alloc = std::get_if<AllocStep>(&step); alloc && alloc->name == "features") {
          held += bytes[alloc->tensor.id] = static_cast<std::size_t>(alloc->tensor.bytes());
          ++loads;
        }
        if (const auto* gone = std::get_if<ReleaseStep>(&step);
            gone && bytes.contains(gone->tensor.id))
          held -= bytes[gone->tensor.id];
        most = std::max(most, held);
      }
      EXPECT_EQ(most, largest * 12 * 4);
      EXPECT_EQ(held, 0U);
      // In an epoch of three parts the first is there, as is the last when they are evaluated.
      EXPECT_EQ(loads, parts == 2 ? 1U : 1U + 2 * (2 + 2));
    }
  }
}

/// Times that features come onto the device for steps.
std::int64_t loads_for_steps(const Program& program) {
  std::int64_t loads = 0;
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    const auto* alloc = std::get_if<AllocStep>(&step);
    if (alloc != nullptr && alloc->name == "features" && phase.stage != Stage::evaluate) ++loads;
  }
  return loads;
}

/// Seven parts on two ranks are four and three loads a turn.
TEST(ModelAveraging, LoadsEachPartOnceAnInterval) {
  struct Case {
    int interval, eval_every, turns;  // of eight epochs
  };
  for (const Case& c : {Case{1, 0, 8}, {4, 0, 2}, {3, 0, 3}, {20, 0, 1}, {4, 8, 2}}) {
    Problem p = small(on_parts(Averaging::model, 7, 2), 2);
    p.strategy.interval = c.interval;
    p.train.epochs = 8;
    p.train.eval_every = c.eval_every;

    const auto programs = record_training(*make_strategy(p), p, 8, {});
    const Outcome real = execute(p);

    for (std::size_t rank = 0; rank < 2; ++rank) {
      const std::int64_t want = c.turns * cost::parts_on_gpu(7, 2, static_cast<int>(rank));
      EXPECT_EQ(programs[rank].loads, want) << c.interval;
      EXPECT_EQ(loads_for_steps(programs[rank]), want);
      EXPECT_EQ(real.ranks[rank].loads, want);
      for (const EpochCost& epoch : real.ranks[rank].epochs) {
        EXPECT_GT(epoch.seconds, 0);
        EXPECT_NEAR(epoch.breakdown.total(), epoch.seconds, 1e-9);
      }
    }
    EXPECT_EQ(real.epochs.size(), 8U);
  }
}

/// An evaluation or a checkpoint ends a turn; after every epoch, parts take turns in every one.
TEST(ModelAveraging, LearnsTheSameInTurnsOfAnyLength) {
  for (const int interval : {4, 6}) {
    Problem p = small(on_parts(Averaging::model, 5, 2), 2);
    p.strategy.interval = interval;
    p.train.epochs = 9;
    p.train.eval_every = 1;
    const Outcome every = execute(p);
    for (const int eval_every : {0, 2, 5}) {
      p.train.eval_every = eval_every;

      const Outcome some = execute(p);

      EXPECT_EQ(losses(some), losses(every));
      for (const EpochReport& report : some.epochs)
        if (report.scores) {
          const auto& other = every.epochs[static_cast<std::size_t>(report.epoch)];
          EXPECT_EQ(report.scores->test, other.scores->test);
        }
    }
    p.train.eval_every = 0;
    const Rows turns = state_after(p, 9), steps = state_after(p, 3);  // kept after 9; 3, 6 and 9
    p.train.eval_every = 3;
    EXPECT_EQ(state_after(p, 9), turns);
    EXPECT_EQ(state_after(p, 3), steps);
  }
}

/// Parts of every kind of emptiness: rank 0 has no vertex, rank 1 none to train on.
TEST(ModelAveraging, WorksWithEmptyPartsAndWorkersWithoutTrainingVertices) {
  for (const Averaging averaging : {Averaging::model, Averaging::gradient})
    for (const EvaluateOn evaluate_on : {EvaluateOn::parts, EvaluateOn::graph})
      for (const auto& [parts, batch] : {std::pair{4, 0}, {7, 0}, {4, 5}, {7, 5}}) {
        if (batch > 0 && averaging == Averaging::gradient) continue;
        Problem p = small(on_parts(averaging, parts, 4), 4);
        p.strategy.evaluate_on = evaluate_on;
        p.strategy.batch = batch;
        p.strategy.interval = averaging == Averaging::model ? 2 : 1;
        for (std::size_t v = 0; v < p.partition.owner.size(); ++v) {
          auto& owner = p.partition.owner[v];
          const bool trains = p.data->split[v] == Split::train;
          if (owner % 4 == 0 || (owner % 4 == 1 && trains)) owner = 2;
        }

        const Outcome outcome = execute(p);

        EXPECT_LT(*outcome.epochs.back().loss, *outcome.epochs.front().loss);
        EXPECT_TRUE(outcome.epochs.back().scores->test.has_value());
      }
}

TEST(ModelAveraging, LearnsTheSameOnAnyNumberOfRanks) {
  for (const int interval : {1, 2}) {
    Problem six = small(on_parts(Averaging::model, 6, 6), 6);
    six.strategy.interval = interval;
    const auto want = losses(execute(six));
    for (const int workers : {1, 2, 4, 8}) {
      Problem fewer = six;
      fewer.strategy.workers = workers;

      expect_near(losses(execute(fewer)), want, 1e-4);
    }
  }
}

// ---- batches

StrategyConfig in_batches(std::int64_t batch, std::vector<int> fanouts, int parts, int workers) {
  StrategyConfig config = on_parts(Averaging::model, parts, workers);
  config.batch = batch;
  config.fanouts = std::move(fanouts);
  return config;
}

TEST(ModelAveraging, ABatchOfAllTrainingVerticesOfAPartIsThePart) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const int hops : {0, 1}) {
      Problem parts = small(on_parts(Averaging::model, 5, 2), 2, type == ModelType::gcn);
      parts.model.type = type;
      parts.model.dropout = 0;
      parts.strategy.hops = hops;
      parts.strategy.interval = 2;
      Problem batches = parts;
      batches.strategy.batch = 1000;

      expect_near(losses(execute(batches)), losses(execute(parts)), 1e-5);
    }
}

/// If nothing is learned, an epoch's batches have the loss of all training vertices.
TEST(ModelAveraging, AnEpochsBatchesHaveEachTrainingVertexOnce) {
  Problem parts = small(on_parts(Averaging::model, 5, 2), 2);
  parts.model.dropout = 0;
  parts.train.learning_rate = 1e-12F;
  Problem batches = parts;
  batches.strategy.batch = 3;

  expect_near(losses(execute(batches)), losses(execute(parts)), 1e-5);
}

TEST(ModelAveraging, BatchesLearnTheSameOnAnyNumberOfRanks) {
  for (const std::vector<int>& fanouts : {std::vector<int>{}, std::vector<int>{3, 2}}) {
    const auto on = [&](int workers) {
      Problem p = small(in_batches(4, fanouts, 6, workers), 6);
      p.strategy.interval = 2;
      return losses(execute(p));
    };
    const auto want = on(6);
    EXPECT_LT(want.back(), want.front());
    for (const int workers : {1, 2, 4, 8}) expect_near(on(workers), want, 1e-4);
  }
}

/// The run goes on from the middle of an interval, on another number of ranks: every model
/// continues with its own moments, its own count of steps, and the draws of the epoch.
TEST(ModelAveraging, BatchesGoOnFromACheckpoint) {
  const auto on = [&](int workers) {
    Problem p = small(in_batches(4, {3, 2}, 6, workers), 6);
    p.strategy.interval = 4;
    return p;
  };
  Problem p = on(2);
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.checkpoint_every = 3;
  std::shared_ptr<const Checkpoint> kept;
  options.keep = [&](const Checkpoint& c) {
    if (c.epochs == 3) kept = std::make_shared<const Checkpoint>(c);
  };
  const auto whole = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));
  options.control.resume = kept;
  for (const int workers : {2, 3}) {
    p = on(workers);

    const auto rest = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));

    expect_near(rest, {whole.begin() + 3, whole.end()}, workers == 2 ? 0 : 1e-4);
  }
}

/// Adam's count of a model goes up by one in each of its steps, of which it has as many in an epoch
/// as batches.
TEST(ModelAveraging, EachModelCountsItsOwnSteps) {
  Problem p = small(in_batches(4, {3, 2}, 3, 1), 3);
  p.train.eval_every = 0;
  const auto training = training_of_parts(p);
  std::vector<std::int32_t> want;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const std::int64_t vertices : training)
      for (std::int64_t b = 0, all = (vertices + 3) / 4; b < all; ++b)
        want.push_back(static_cast<std::int32_t>(epoch * all + b + 1));

  const auto programs = record_training(*make_strategy(p), p, 3, {});

  EXPECT_NO_THROW(check(programs));
  std::vector<std::int32_t> got;
  for (const Step& step : programs[0].steps)
    if (const auto* submit = std::get_if<SubmitStep>(&step))
      if (const auto* adam = std::get_if<Adam>(&submit->op)) got.push_back(adam->step);
  ASSERT_EQ(got.size() % want.size(), 0U) << "one update of all weights a step";
  const std::size_t each = got.size() / want.size();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], want[i / each]);
}

/// A part's vertices draw among the edges that the part holds, as many as there are to draw; their
/// entries are those of the part's matrix, times how many there are of each that was drawn.
TEST(ModelAveraging, BatchesDrawWithinTheirPart) {
  Problem p = small(in_batches(4, {3, 2}, 3, 3), 3);
  const auto parts = subgraphs_in_memory(p.data, p.model, p.partition, p.strategy, p.train.seed);
  const PartBatches batches(parts, p.model, p.facts(), 4, {3, 2}, p.train.seed);
  for (int part = 0; part < 3; ++part) {
    const auto held = parts->part(part);
    std::map<Vertex, Vertex> local;
    for (const Vertex v : *held->vertices) local.emplace(v, static_cast<Vertex>(local.size()));
    std::multiset<Vertex> seeds;
    for (int b = 0; b < batches.count(part); ++b) {
      const auto batch = batches.batch(part, 5, b);
      EXPECT_EQ(batch.rows.back(), batches.seeds(part, b));
      for (std::int64_t s = 0; s < batch.rows.back(); ++s)
        seeds.insert((*batch.vertices)[static_cast<std::size_t>(s)]);
      for (std::size_t l = 0; l < 2; ++l) {
        const SparseMatrix& a = batch.layers[l].forward;
        for (std::int64_t r = 0; r < a.rows(); ++r) {
          const Vertex v = local.at((*batch.vertices)[static_cast<std::size_t>(r)]);
          const auto whole = held->a.csr().row(v);
          const auto degree = static_cast<std::int64_t>(whole.size()) - 1;  // and the vertex itself
          const std::int64_t drawn = std::min<std::int64_t>(degree, l == 1 ? 3 : 2);
          ASSERT_EQ(a.csr().degree(r), drawn + 1);
          for (std::size_t e = 0; e < a.csr().row(r).size(); ++e) {
            const auto c = static_cast<std::size_t>(a.csr().row(r)[e]);
            const Vertex u = local.at((*batch.vertices)[c]);
            const auto found = std::lower_bound(whole.begin(), whole.end(), u);
            ASSERT_TRUE(found != whole.end() && *found == u);
            const double entry =
                double{held->a.row_values(v)[static_cast<std::size_t>(found - whole.begin())]};
            const double times =
                u == v ? 1 : static_cast<double>(degree) / static_cast<double>(drawn);
            EXPECT_NEAR(a.row_values(r)[e], entry * times, 1e-6);
          }
        }
      }
    }
    EXPECT_EQ(std::ssize(seeds), parts->training_vertices(part));
    EXPECT_EQ(std::ssize(std::set<Vertex>(seeds.begin(), seeds.end())), std::ssize(seeds));
  }
}

/// The parts as components of one graph: each holds its own vertices and, as copies that are in no
/// split, the other ends of its edges, and nothing joins them.
Problem as_components(const Problem& problem,
                      const std::vector<std::vector<Edge>>& edges_of_parts) {
  const Dataset& from = *problem.data;
  auto data = std::make_shared<Dataset>();
  data->name = "components";
  data->symmetric = from.symmetric;
  data->labels.classes = from.labels.classes;
  Partition partition{problem.partition.parts, {}};
  std::vector<Vertex> original;
  EdgeList list;
  const auto members = problem.partition.members();
  for (std::size_t p = 0; p < members.size(); ++p) {
    std::map<Vertex, Vertex> copy;  // of each vertex that the part holds
    const auto add = [&](Vertex v, Split split) {
      if (!copy.emplace(v, static_cast<Vertex>(original.size())).second) return;
      original.push_back(v);
      data->split.push_back(split);
      data->labels.values.push_back(from.labels.values[static_cast<std::size_t>(v)]);
      partition.owner.push_back(static_cast<std::int32_t>(p));
    };
    for (const Vertex v : members[p]) add(v, from.split[static_cast<std::size_t>(v)]);
    for (const auto& [u, v] : edges_of_parts[p]) {
      add(u, Split::none);
      add(v, Split::none);
      list.source.push_back(copy.at(u));
      list.destination.push_back(copy.at(v));
    }
  }
  list.vertices = std::ssize(original);
  data->graph = std::make_shared<const Csr>(build_csr(list));
  data->features = selected(from.features, original);
  Problem components = problem;
  components.data = data;
  components.partition = partition;
  components.strategy.cross_edges = CrossEdges::drop;
  return components;
}

TEST(PartsWithoutNeighbourhoods, AreTrainedAsGraphsOfTheirOwn) {
  for (const bool symmetric : {true, false})
    for (const ModelType type : {ModelType::gcn, ModelType::sage})
      for (const std::string method : {"random", "dbh", "hdrf"}) {
        const bool fragments = method != "random";
        Problem p = small(on_parts(Averaging::model, 5, 2), 2, symmetric);
        p.model.type = type;
        p.model.layers = 3;
        p.model.dropout = 0;  // its masks are of the vertices' numbers
        p.strategy.hops = 0;
        p.strategy.interval = 2;
        p.strategy.cross_edges = fragments ? CrossEdges::as_cut : CrossEdges::one_side;
        std::vector<std::vector<Edge>> edges(5);
        if (fragments) {
          p.partition = cut_into_fragments(*p.data->graph, 5, {method, "", testing::kSeed});
          edges = *p.partition.fragments;
        } else {
          for (Vertex v = 0; v < p.data->graph->rows; ++v)
            for (const Vertex u : p.data->graph->row(v))
              edges[static_cast<std::size_t>(
                        p.partition.owner[static_cast<std::size_t>(drawn_end(p.train.seed, u, v))])]
                  .push_back({u, v});
        }
        SCOPED_TRACE(method + (symmetric ? " symmetric" : " directed"));

        const Outcome parts = execute(p), components = execute(as_components(p, edges));

        expect_near(losses(parts), losses(components), 1e-5);
        for (std::size_t e = 0; e < parts.epochs.size(); ++e) {
          EXPECT_EQ(parts.epochs[e].scores->train, components.epochs[e].scores->train);
          EXPECT_EQ(parts.epochs[e].scores->test, components.epochs[e].scores->test);
        }
        Problem dropped = p;
        dropped.strategy.cross_edges = CrossEdges::drop;
        EXPECT_NE(losses(execute(dropped)), losses(parts)) << "cross edges matter";
      }
}

TEST(PartsWithoutNeighbourhoods, TrainOnEveryTrainingVertexOnceOnAnyNumberOfRanks) {
  for (const bool fragments : {true, false}) {
    Problem six = small(on_parts(Averaging::model, 6, 6), 6);
    six.strategy.hops = 0;
    six.strategy.cross_edges = fragments ? CrossEdges::as_cut : CrossEdges::one_side;
    if (fragments)
      six.partition = cut_into_fragments(*six.data->graph, 6, {"2ps-l", "", testing::kSeed});
    const auto want = losses(execute(six));
    for (const int workers : {1, 2, 4}) {
      Problem fewer = six;
      fewer.strategy.workers = workers;
      std::int64_t targets = 0;

      for (const Program& program : record_training(*make_strategy(fewer), fewer, 1, {}))
        for (const Loss& loss : in_epochs<Loss>(program)) targets += loss.targets.rows();

      EXPECT_EQ(targets, fewer.facts().training_vertices);
      expect_near(losses(execute(fewer)), want, 1e-4);
    }
  }
}

TEST(ModelAveraging, GoesOnOnAnotherNumberOfRanks) {
  Problem p = small(on_parts(Averaging::model, 5, 2), 2);
  p.strategy.interval = 4;
  p.train.epochs = 6;
  const auto whole = losses(execute(p));
  Problem start = p;
  start.train.epochs = 3;  // local models that have not been averaged
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.resume = std::make_shared<const Checkpoint>(Checkpoint{3, state_after(start, 3)});
  for (const int workers : {2, 3, 5, 7}) {
    p.strategy.workers = workers;

    const auto rest = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));

    expect_near(rest, {whole.begin() + 3, whole.end()}, workers == 2 ? 0 : 1e-4);
  }
}

TEST(ModelAveraging, MoreRanksThanPartsWork) {
  for (const Averaging averaging : {Averaging::model, Averaging::gradient}) {
    const Problem p = small(on_parts(averaging, 2, 5), 5);

    const Outcome outcome = execute(p);

    EXPECT_LT(*outcome.epochs.back().loss, *outcome.epochs.front().loss);
  }
}

/// Whole parts have the same neighbours as the whole graph; without neighbourhoods they do not.
TEST(ModelAveraging, EvaluatesOnPartsOrOnTheWholeGraph) {
  for (const int hops : {0, 2}) {
    Problem parts = small(on_parts(Averaging::model), 4);
    parts.strategy.hops = hops;
    parts.strategy.degrees = Degrees::original;
    Problem graph = parts;
    graph.strategy.evaluate_on = EvaluateOn::graph;

    const Outcome a = execute(parts), b = execute(graph);

    EXPECT_EQ(losses(a), losses(b)) << "training does not mind";
    bool same = true;
    for (std::size_t e = 0; e < a.epochs.size(); ++e)
      same = same && a.epochs[e].scores->train == b.epochs[e].scores->train;
    EXPECT_EQ(same, hops == 2);
  }
}

TEST(ModelAveraging, CheckpointsOfAnotherNumberOfPartsAreRefused) {
  Problem p = small(on_parts(Averaging::model), 3);
  ExecuteOptions options;
  options.control.resume = std::make_shared<const Checkpoint>(Checkpoint{6, state_after(p, 6)});
  p = small(on_parts(Averaging::model), 4);
  p.train.epochs = 8;

  EXPECT_THROW(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}), ConfigError);
}

TEST(ModelAveraging, NeedsTheGraphItself) {
  Problem p = small(on_parts(Averaging::model), 2);
  p.statistics = GraphStatistics{};
  EXPECT_THROW(make_strategy(p), NeedsStructure);
}

TEST(ModelAveraging, GivesTheSameBitsAgain) {
  const Problem p = small(on_parts(Averaging::model, 5, 2), 2);

  EXPECT_EQ(losses(execute(p, "cpu")), losses(execute(p, "cpu")));
}

}  // namespace
}  // namespace orrery
