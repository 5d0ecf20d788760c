// Features that are learned with the model: whose gradients reach a row, what its owner makes of
// them, and that nobody works on an older row.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/model/layer_type.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/store/learned_rows.hpp"
#include "core/strategy/structure/halo_structure.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/typed.hpp"
#include "tests/support/within_bound.hpp"

namespace orrery {
namespace {

using testing::batches_of;
using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;
using testing::refusal;

constexpr std::int64_t kVertices = 90, kWidth = 12;
constexpr double kFeaturesRate = 0.05;

MiniBatchSettings drawing(std::int64_t batch, std::vector<int> fanouts) {
  MiniBatchSettings settings;
  settings.batch = batch;
  settings.fanouts = std::move(fanouts);
  settings.seeds = SeedsFrom::all;
  return settings;
}

StrategyConfig learning(MiniBatchSettings settings, std::vector<std::string> types = {}) {
  StrategyConfig config = batches_of(std::move(settings));
  config.learned = LearnedFeatures{kFeaturesRate, std::move(types)};
  return config;
}

Problem problem_of(const std::shared_ptr<const Dataset>& data, int ranks,
                   MiniBatchSettings settings = drawing(20, {4, 3})) {
  Problem problem = make_problem(data, ranks, learning(std::move(settings)));
  problem.train.epochs = 3;
  return problem;
}

std::shared_ptr<const Dataset> some_data() {
  return random_dataset(kVertices, 500, kWidth, 4, true);
}

/// The checkpoints of a training, one after every `every_steps` steps.
std::vector<Checkpoint> checkpoints(const Problem& problem, int every_steps) {
  std::vector<Checkpoint> kept;
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.checkpoint_every = 1;
  options.control.checkpoint_steps = every_steps;
  options.keep = [&](const Checkpoint& checkpoint) { kept.push_back(checkpoint); };
  execute_on_threads(TrainingBody(*make_strategy(problem), problem), options, {});
  return kept;
}

/// Row, first and second moment of every vertex.
struct Learned {
  explicit Learned(const Checkpoint& from) {
    const auto first = from.state.end() - static_cast<std::ptrdiff_t>(LearnedRows::kStates);
    rows = first[0];
    means = first[1];
    squares = first[2];
  }
  std::vector<float> rows, means, squares;
};

TEST(LearnedFeatures, HaveTheLossesOfOneRankOnAnyNumberOfRanks) {
  const auto data = some_data();
  for (const ModelType type : {ModelType::gcn, ModelType::sage}) {
    const auto with = [&](int ranks) {
      Problem p = problem_of(data, ranks);
      p.model.type = type;
      p.model.dropout = 0.2;
      return losses(execute(p, "cpu"));
    };
    const std::vector<double> want = with(1);
    Problem given = problem_of(data, 1);
    given.model.type = type;
    given.model.dropout = 0.2;
    given.strategy.learned.reset();
    EXPECT_GT(std::abs(losses(execute(given, "cpu")).back() - want.back()), 2e-3)
        << "learning is not seen";
    for (const int ranks : {2, 3, 4}) {
      const std::vector<double> got = with(ranks);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-4 * want[i]) << ranks;
      EXPECT_EQ(with(ranks), got) << "sums in another order";
    }
  }
}

/// Features of one type are learned as they would be with all others; those of others stay as they are.
TEST(LearnedFeatures, OfSomeTypesLeaveTheOthersAsTheyAre) {
  const auto data = testing::typed_dataset(kVertices, 500, kWidth, 4, true);
  const VertexType& learned = *data->typed->type("b");
  const auto with = [&](int ranks, std::vector<std::string> types, int epochs) {
    Problem p =
        testing::typed_problem(data, ranks, learning(drawing(1 << 20, {4, 3}), std::move(types)));
    p.train.epochs = epochs;
    return p;
  };
  std::vector<float> given(at(kVertices * kWidth));
  std::vector<Vertex> all(kVertices);
  for (Vertex v = 0; v < kVertices; ++v) all[at(v)] = v;
  data->features->read(all, 0, kWidth, given.data(), kWidth);
  for (const int ranks : {1, 3}) {
    const Learned some(checkpoints(with(ranks, {"b"}, 1), 0).back()),
        every(checkpoints(with(ranks, {}, 1), 0).back());
    std::int64_t moved = 0;
    for (Vertex v = 0; v < kVertices; ++v)
      for (std::int64_t c = 0; c < kWidth; ++c) {
        const std::size_t i = at(v * kWidth + c);
        EXPECT_EQ(some.rows[i], learned.has(v) ? every.rows[i] : given[i]);
        EXPECT_EQ(some.means[i], learned.has(v) ? every.means[i] : 0);
        EXPECT_EQ(some.squares[i], learned.has(v) ? every.squares[i] : 0);
        moved += some.rows[i] != given[i] ? 1 : 0;
      }
    EXPECT_GT(moved, learned.count * kWidth / 2);
  }
  const auto want = losses(execute(with(1, {"b", "c"}, 4)));
  for (const int ranks : {2, 3}) {
    const auto got = losses(execute(with(ranks, {"b", "c"}, 4), "cpu"));
    for (std::size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]);
  }
  EXPECT_NE(refusal(with(1, {"bb"}, 1)).find("did you mean \"b\"?"), std::string::npos);
  Problem untyped = problem_of(some_data(), 1);
  untyped.strategy.learned->types = {"b"};
  EXPECT_NE(refusal(untyped).find("strategy.learned_types"), std::string::npos);
}

/// After one step the first moment is a tenth of the gradient that reached the owner.
TEST(LearnedFeatures, HaveTheGradientOfDifferencesInEveryModel) {
  const auto data = some_data();
  std::vector<Vertex> all(kVertices);
  for (Vertex v = 0; v < kVertices; ++v) all[at(v)] = v;
  std::vector<float> values(at(kVertices * kWidth));
  data->features->read(all, 0, kWidth, values.data(), kWidth);
  for (const ModelType type :
       {ModelType::gcn, ModelType::sage, ModelType::gat, ModelType::resgcn, ModelType::sgc})
    for (const LayerOrder order : {LayerOrder::automatic, LayerOrder::aggregate_first}) {
      const bool ordered =
          type == ModelType::gcn || type == ModelType::sage || type == ModelType::sgc;
      if (order != LayerOrder::automatic && !ordered) continue;
      const auto with = [&](const std::vector<float>& features) {
        auto moved = std::make_shared<Dataset>(*data);
        moved->features = dense_features(kVertices, kWidth, features, "moved", true);
        Problem p = problem_of(moved, 3, drawing(1 << 20, {4, 3}));
        p.model.type = type;
        p.model.order = order;
        p.model.hidden = 8;
        p.model.activation = type == ModelType::resgcn ? Activation::relu : Activation::elu;
        p.model.dropout = type == ModelType::resgcn ? 0 : 0.25;
        p.train.epochs = 1;
        p.train.eval_every = 0;
        return p;
      };
      std::vector<float> gradient = Learned(checkpoints(with(values), 0).back()).means;
      for (float& g : gradient) g *= 10;
      std::vector<std::size_t> order_of(gradient.size());
      for (std::size_t i = 0; i < order_of.size(); ++i) order_of[i] = i;
      std::partial_sort(order_of.begin(), order_of.begin() + 6, order_of.end(),
                        [&](std::size_t a, std::size_t b) {
                          return std::abs(gradient[a]) > std::abs(gradient[b]);
                        });
      for (std::size_t i = 0; i < 6; ++i) {
        const auto loss_at = [&](float step) {
          std::vector<float> moved = values;
          moved[order_of[i]] += step;
          return losses(execute(with(moved)))[0];
        };
        const double slope = (loss_at(5e-3F) - loss_at(-5e-3F)) / 1e-2;
        EXPECT_NEAR(slope, gradient[order_of[i]], 0.03 * std::abs(slope) + 1e-5) << type.name;
      }
    }
}

/// Like PyTorch's SparseAdam: one count of steps for all rows, and nothing happens to the rows of
/// vertices that are in no batch of the step.
TEST(LearnedFeatures, TakeStepsOfASparseAdam) {
  const int ranks = 3;
  Problem p =
      problem_of(random_dataset(kVertices, 150, kWidth, 4, true), ranks, drawing(6, {2, 2}));
  p.train.epochs = 1;
  const std::vector<Checkpoint> kept = checkpoints(p, 1);
  const SampledBatches batches(p);
  ASSERT_GT(kept.size(), 3U);
  for (std::size_t s = 1; s < 4; ++s) {
    const Learned before(kept[s - 1]), after(kept[s]);
    std::set<Vertex> batch;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto vertices = batches.batch(rank, 0, static_cast<int>(s)).vertices;
      batch.insert(vertices->begin(), vertices->end());
    }
    ASSERT_LT(std::ssize(batch), kVertices);
    const auto t = static_cast<double>(s + 1);
    for (std::size_t i = 0; i < before.rows.size(); ++i) {
      if (!batch.contains(static_cast<Vertex>(i) / kWidth)) {
        ASSERT_EQ(after.rows[i], before.rows[i]);
        ASSERT_EQ(after.means[i], before.means[i]);
        ASSERT_EQ(after.squares[i], before.squares[i]);
        continue;
      }
      const double g = (after.means[i] - 0.9 * before.means[i]) / 0.1;
      ASSERT_NEAR(after.squares[i], 0.999 * before.squares[i] + 0.001 * g * g, 1e-8);
      const double change = kFeaturesRate * after.means[i] / (1 - std::pow(0.9, t)) /
                            (std::sqrt(after.squares[i] / (1 - std::pow(0.999, t))) + 1e-8);
      ASSERT_NEAR(after.rows[i], before.rows[i] - change, 2e-6);
    }
  }
}

/// A run that worked on rows older than the last update would go on with newer ones here: batches are
/// drawn and loaded ahead, and their rows must not be.
TEST(LearnedFeatures, GoOnFromACheckpointWithTheSameBits) {
  const auto data = some_data();
  const Problem p = problem_of(data, 3);
  const std::vector<double> whole = losses(execute(p));
  for (const Checkpoint& kept : checkpoints(p, 2)) {
    if (kept.epochs == p.train.epochs) continue;
    const auto rest = [&](int ranks) {
      ExecuteOptions options;
      options.kernels = "reference";
      options.control.resume = std::make_shared<const Checkpoint>(kept);
      const Problem other = problem_of(data, ranks);
      return losses(execute_on_threads(TrainingBody(*make_strategy(other), other), options, {}));
    };
    EXPECT_EQ(rest(3), std::vector<double>(whole.begin() + kept.epochs, whole.end()));
    EXPECT_NEAR(rest(2).back(), whole.back(), 1e-4 * whole.back());
  }
}

TEST(LearnedFeatures, OfOtherDataAreNoCheckpoint) {
  Problem p = problem_of(some_data(), 2);
  Checkpoint kept = checkpoints(p, 0).front();
  const auto go_on = [&] {
    ExecuteOptions options;
    options.control.resume = std::make_shared<const Checkpoint>(kept);
    execute_on_threads(TrainingBody(*make_strategy(p), p), options, {});
  };
  kept.state.back().pop_back();
  EXPECT_THROW(go_on(), ConfigError);
  kept.state.resize(kept.state.size() - LearnedRows::kStates);
  EXPECT_THROW(go_on(), ConfigError);
}

TEST(LearnedFeatures, DoWhatTheirRecordingSays) {
  for (const BatchSampler sampler : {BatchSampler::neighbour, BatchSampler::saint_walk}) {
    MiniBatchSettings settings = drawing(20, {4, 3});
    settings.sampler = sampler;
    settings.seeds = SeedsFrom::own;
    if (is_saint(sampler)) settings.fanouts.clear();
    const Problem p = problem_of(some_data(), 3, settings);
    testing::expect_as_recorded(p);
    const auto largest = make_strategy(p)->with_largest_batches();
    const auto at_most = record_training(*largest, p, 1, {}),
               drawn = record_training(*make_strategy(p), p, 1, {});
    check(at_most);
    for (std::size_t r = 0; r < drawn.size(); ++r)
      EXPECT_GE(at_most[r].peak_bytes[0], drawn[r].peak_bytes[0]);
  }
}

TEST(LearnedFeatures, TakeNoMoreMemoryThanTheirBound) {
  for (const int ranks : {1, 2, 3})
    for (const bool dense : {false, true}) {
      SCOPED_TRACE(fmt::format("{} ranks, {}", ranks, dense ? "all" : "drawn"));
      Problem p = dense ? problem_of(testing::all_trained(some_data()), ranks,
                                     drawing(1 << 20, {kAllNeighbours, kAllNeighbours}))
                        : problem_of(some_data(), ranks, drawing(20, {4, 3}));
      p.train.epochs = 6;
      p.train.eval_every = dense ? 0 : 1;
      testing::expect_within_bound(p, dense ? 2 : 6);
    }
}

/// Rows come and gradients go: each of a batch that another rank owns, once.
TEST(LearnedFeatures, TravelOnceEachWay) {
  const int ranks = 3;
  Problem p = problem_of(some_data(), ranks);
  p.train.epochs = 1;
  p.train.eval_every = 0;
  const SampledBatches batches(p);
  double want = 0, got = 0;
  for (int step = 0; step < batches.steps(); ++step)
    for (int rank = 0; rank < ranks; ++rank)
      want += 2 * 4.0 * kWidth * static_cast<double>(batches.batch(rank, 0, step).features.foreign);
  const auto programs = record_training(*make_strategy(p), p, 1, {});
  for (int rank = 0; rank < ranks; ++rank)
    for (const Step& step : programs[at(rank)].steps) {
      const auto* submit = std::get_if<SubmitStep>(&step);
      if (submit == nullptr || !std::holds_alternative<AllToAllV>(submit->op)) continue;
      received_bytes(submit->op, rank, [&](int, double bytes) { got += bytes; });
    }
  EXPECT_GT(want, 0);
  EXPECT_NEAR(got, want, 1e-6);
}

/// Features are noise, and neighbours are alike: the class of a vertex must be learned from its
/// neighbours.
TEST(LearnedFeatures, FindClassesThatGivenFeaturesDoNotShow) {
  DatasetOptions options;
  options.generator = "communities";
  options.generate_vertices = 600;
  options.generate_edges = 3600;
  options.generate_classes = 4;
  auto data = std::make_shared<Dataset>(generate_communities(options));
  data->features = random_features(data->vertices(), 8, 7);
  for (Vertex v = 0; v < data->vertices(); ++v)
    data->split.push_back(v % 2 == 0 ? Split::train : Split::test);
  const auto accuracy = [&](bool learns) {
    Problem p = problem_of(data, 2, drawing(100, {10, 10}));
    if (!learns) p.strategy.learned.reset();
    p.model.type = ModelType::sage;
    p.train.epochs = 15;
    double best = 0;
    for (const EpochReport& report : execute(p, "cpu").epochs)
      best = std::max(best, *report.scores->test);
    return best;
  };
  const double given = accuracy(false), learned = accuracy(true);
  EXPECT_GT(learned, given + 0.1);
  EXPECT_GT(learned, 0.8);
}

Problem whole_graph(const std::shared_ptr<const Dataset>& data, int ranks, ModelType type) {
  Problem p = data->typed ? testing::typed_problem(data, ranks, StrategyConfig{})
                          : make_problem(data, ranks, StrategyConfig{});
  p.model.type = type;
  p.model.hidden = 8;
  p.model.dropout = 0.2;
  p.strategy.learned = LearnedFeatures{kFeaturesRate};
  if (by_relation(p.model)) p.strategy.learned->types = {"b", "c"};
  if (type == model_type("rgcn")) p.model.projection = 6;
  p.train.epochs = 4;
  return p;
}

/// One batch of all training vertices with all neighbours is the whole graph.
TEST(LearnedFeatures, OfTheWholeGraphAreThoseOfABatchOfEverything) {
  const auto untyped = some_data();
  const auto typed = testing::typed_dataset(kVertices, 500, kWidth, 4, true);
  for (const ModelType type : {ModelType::gcn, ModelType::sage, ModelType::gat, ModelType::resgcn,
                               ModelType::sgc, model_type("rgcn"), model_type("rgat")}) {
    const bool relations = type == model_type("rgcn") || type == model_type("rgat");
    Problem batch = whole_graph(relations ? typed : untyped, 1, type);
    MiniBatchSettings everything = drawing(1 << 20, {});
    everything.sampler = BatchSampler::all;
    const LearnedFeatures learned = *batch.strategy.learned;
    batch.strategy = learning(everything, learned.types);
    // A sum of another order changes the sign of gradients that are 0 but for rounding, and Adam
    // makes whole steps of these.
    const double within = type == model_type("rgat") ? 1e-3 : 1e-4;
    const auto want = losses(execute(batch));
    for (const int ranks : {1, 2, 3}) {
      const Problem p = whole_graph(relations ? typed : untyped, ranks, type);
      const auto got = losses(execute(p, ranks == 2 ? "cpu" : "reference"));
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t e = 0; e < want.size(); ++e)
        EXPECT_NEAR(got[e], want[e], within * want[e]) << type.name << ' ' << ranks;
      Problem given = p;
      given.strategy.learned.reset();
      EXPECT_GT(std::abs(losses(execute(given)).back() - want.back()), 1e-3) << type.name;
    }
  }
}

TEST(LearnedFeatures, OfTheWholeGraphDoWhatTheirRecordingSays) {
  testing::expect_as_recorded(whole_graph(some_data(), 3, ModelType::sage));
  testing::expect_as_recorded(
      whole_graph(testing::typed_dataset(kVertices, 500, kWidth, 4, true), 2, model_type("rgcn")));
}

/// Gradients of rows travel as rows do: those of the first layer too, which without learned rows
/// send nothing back.
TEST(LearnedFeatures, OfTheWholeGraphSendGradientsBackOnce) {
  const int ranks = 3;
  const auto data = testing::typed_dataset(kVertices, 500, kWidth, 4, true);
  Problem p = whole_graph(data, ranks, model_type("rgcn"));
  p.train.epochs = 1;
  p.train.eval_every = 0;
  p.model.projection = 0;
  p.strategy.first_layer = FirstLayer::recompute;
  const auto bytes = [&](const Problem& of) {
    double got = 0;
    const auto programs = record_training(*make_strategy(of), of, 1, {});
    for (int rank = 0; rank < ranks; ++rank)
      for (const Step& step : programs[at(rank)].steps)
        if (const auto* submit = std::get_if<SubmitStep>(&step))
          received_bytes(submit->op, rank, [&](int, double received) { got += received; });
    return got;
  };
  Problem given = p;
  given.strategy.learned.reset();
  std::int64_t foreign = 0;
  const auto source = partitioned_graph(p);
  for (int rank = 0; rank < ranks; ++rank) foreign += make_halo_structure(*source, rank).received();
  ASSERT_GT(foreign, 0);
  EXPECT_NEAR(bytes(p) - bytes(given), 4.0 * kWidth * static_cast<double>(foreign), 1e-6);
}

TEST(LearnedFeatures, OfTheWholeGraphGoOnFromACheckpointOnOtherRanks) {
  const auto data = some_data();
  const Problem p = whole_graph(data, 3, ModelType::sage);
  const std::vector<double> whole = losses(execute(p));
  const Checkpoint kept = checkpoints(p, 0)[1];
  ASSERT_EQ(kept.epochs, 2);
  for (const int ranks : {1, 3}) {
    ExecuteOptions options;
    options.kernels = "reference";
    options.control.resume = std::make_shared<const Checkpoint>(kept);
    const Problem other = whole_graph(data, ranks, ModelType::sage);
    const auto rest =
        losses(execute_on_threads(TrainingBody(*make_strategy(other), other), options, {}));
    ASSERT_EQ(rest.size(), 2U);
    for (std::size_t e = 0; e < 2; ++e)
      EXPECT_NEAR(rest[e], whole[e + 2], ranks == 3 ? 0 : 1e-4 * whole[e + 2]);
  }
}

TEST(LearnedFeatures, OfTheWholeGraphAreRefusedWhereRowsAreLeftOutOrOld) {
  const auto refused = [](const std::function<void(Problem&)>& change) {
    Problem p = whole_graph(some_data(), 2, ModelType::gcn);
    change(p);
    try {
      require_possible(p.strategy, p.model);
      make_strategy(p);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](Problem&) {}), "accepted");
  const auto names = [&](const std::function<void(Problem&)>& change, const char* key) {
    EXPECT_NE(refused(change).find(key), std::string::npos) << refused(change);
  };
  names([](Problem& p) { p.strategy.boundary_sampling = 0.5; }, "strategy.boundary_sampling");
  names([](Problem& p) { p.strategy.staleness = 1; }, "strategy.staleness");
  names([](Problem& p) { p.model.sparse_input = true; }, "model.sparse_input");
  names([](Problem& p) { p.strategy.first_layer = FirstLayer::mggcn_compat; },
        "strategy.first_layer");
}

TEST(LearnedFeatures, AreNotKeptInACache) {
  Problem p = problem_of(some_data(), 2);
  MiniBatchSettings settings = drawing(20, {4, 3});
  EXPECT_NO_THROW(require_possible(learning(settings), p.model));
  settings.cache.bytes = 1000;
  EXPECT_THROW(require_possible(learning(settings), p.model), ConfigError);
}

}  // namespace
}  // namespace orrery
