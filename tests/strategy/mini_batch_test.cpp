// Mini-batches of sampled neighbours: what is learned, on how many ranks, from whose rows.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/recorder.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/dense_gcn.hpp"
#include "tests/support/one_step.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/recently_used.hpp"

namespace orrery {
namespace {

using testing::after_epochs;
using testing::batches_of;
using testing::DenseGcn;
using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::Matrix;
using testing::random_dataset;

MiniBatchSettings sampled(std::int64_t batch, std::vector<int> fanouts) {
  MiniBatchSettings settings;
  settings.batch = batch;
  settings.fanouts = std::move(fanouts);
  settings.seeds = SeedsFrom::all;
  return settings;
}

// ---- what is drawn

/// The neighbours that each vertex has in each layer of a step, over all ranks; the same wherever it
/// is computed.
using Drawn = std::map<std::pair<int, Vertex>, std::vector<Vertex>>;
Drawn drawn(const Problem& p, int epoch, int step) {
  const SampledBatches batches(p);
  Drawn all;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const SampledBatch batch = batches.batch(rank, epoch, step);
    for (std::size_t l = 0; l < batch.layers.size(); ++l) {
      const Csr& block = batch.layers[l].forward.csr();
      for (std::int64_t r = 0; r < block.rows; ++r) {
        std::vector<Vertex> neighbours;
        for (const Vertex column : block.row(r))
          neighbours.push_back((*batch.vertices)[at(column)]);
        std::sort(neighbours.begin(), neighbours.end());
        const auto [at_once, is_new] =
            all.try_emplace({static_cast<int>(l), (*batch.vertices)[at(r)]}, neighbours);
        EXPECT_EQ(at_once->second, neighbours) << "on rank " << rank;
      }
    }
  }
  return all;
}

TEST(MiniBatch, AStepDrawsTheSameOnAnyNumberOfRanks) {
  const auto data = random_dataset(120, 1500, 6, 3, true);
  for (const BatchSampler sampler : {BatchSampler::neighbour, BatchSampler::labor})
    for (const bool replace : {false, true}) {
      if (replace && sampler == BatchSampler::labor) continue;
      MiniBatchSettings settings = sampled(30, {4, 3});
      settings.sampler = sampler;
      settings.replace = replace;
      const Drawn want = drawn(make_problem(data, 1, batches_of(settings)), 2, 1);
      ASSERT_GT(want.size(), 60U);
      for (const int ranks : {2, 3, 4})
        EXPECT_EQ(drawn(make_problem(data, ranks, batches_of(settings)), 2, 1), want) << ranks;
    }
}

TEST(MiniBatch, DrawsAnewInEveryStepOrEveryEpoch) {
  const auto data = random_dataset(120, 1500, 6, 3, true);
  const auto neighbours_that_differ = [&](bool every_step, std::pair<int, int> a,
                                          std::pair<int, int> b) {
    MiniBatchSettings settings = sampled(30, {4, 3});
    settings.resample_steps = every_step;
    const Problem p = make_problem(data, 2, batches_of(settings));
    const Drawn first = drawn(p, a.first, a.second), second = drawn(p, b.first, b.second);
    int both = 0, other = 0;
    for (const auto& [place, list] : first)
      if (const auto found = second.find(place); found != second.end()) {
        ++both;
        other += found->second != list ? 1 : 0;
      }
    EXPECT_GT(both, 30);
    return other;
  };

  EXPECT_GT(neighbours_that_differ(true, {1, 0}, {1, 1}), 20);
  EXPECT_EQ(neighbours_that_differ(false, {1, 0}, {1, 1}), 0);
  EXPECT_GT(neighbours_that_differ(false, {1, 0}, {2, 0}), 20);
}

/// Entries are those of A, times how many neighbours there are of each that was drawn.
TEST(MiniBatch, RowsAreScaledSoThatTheirSumsAreRightInTheMean) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const bool symmetric : {true, false}) {
      Problem p = make_problem(random_dataset(80, 700, 6, 3, symmetric), 1,
                               batches_of(sampled(1 << 20, {5, 5})));
      p.model.type = type;
      const SparseMatrix a = normalised_adjacency(*p.data, p.model);
      const auto entry = [&](Vertex v, Vertex u) {
        const auto row = a.csr().row(v);
        const auto found = std::lower_bound(row.begin(), row.end(), u);
        EXPECT_TRUE(found != row.end() && *found == u) << "an edge that is not there";
        return static_cast<double>(a.row_values(v)[at(found - row.begin())]);
      };
      const SampledBatch batch = SampledBatches(p).batch(0, 0, 0);
      for (const SampledBatch::Layer& layer : batch.layers) {
        const Csr& block = layer.forward.csr();
        for (std::int64_t r = 0; r < block.rows; ++r) {
          const Vertex v = (*batch.vertices)[at(r)];
          double neighbours = 0, picked = 0;
          for (const Vertex u : p.data->graph->row(v)) neighbours += u != v ? 1 : 0;
          for (const Vertex c : block.row(r)) picked += c != r ? 1 : 0;
          EXPECT_EQ(picked, std::min(neighbours, 5.0));
          EXPECT_EQ(block.degree(r) - static_cast<std::int64_t>(picked),
                    type == ModelType::gcn ? 1 : 0)
              << "a self-loop, where the model has them";
          for (std::size_t e = 0; e < block.row(r).size(); ++e) {
            const Vertex u = (*batch.vertices)[at(block.row(r)[e])];
            EXPECT_NEAR(layer.forward.row_values(r)[e],
                        entry(v, u) * (u == v ? 1 : neighbours / picked), 1e-6);
          }
        }
      }
    }
}

// ---- what is learned

TEST(MiniBatch, OfAllVerticesAndNeighboursHasTheGradientOfTheWholeGraph) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage, ModelType::resgcn, ModelType::sgc})
    for (const int ranks : {1, 3}) {
      const auto data = random_dataset(90, 500, 12, 4, true);
      const auto with = [&](const StrategyConfig& strategy) {
        Problem p = make_problem(data, ranks, strategy);
        p.model.type = type;
        p.model.layers = 3;
        p.strategy.first_layer = FirstLayer::recompute;
        p.train.epochs = 1;
        return p;
      };
      MiniBatchSettings all = sampled(1 << 20, {-1, -1, -1});
      const Problem batch = with(batches_of(all)), whole = with({});

      testing::expect_equal_steps(batch, whole, 1e-6);
    }
}

/// The matrices of every layer of an epoch's one batch, from the sampler's draws alone.
class DrawnProducts final : public testing::DenseProducts {
 public:
  explicit DrawnProducts(const Problem& p) : p_(p) {
    EdgeList edges;
    edges.vertices = p.data->vertices();
    for (Vertex v = 0; v < edges.vertices; ++v) {
      if (p.data->split[at(v)] == Split::train) seeds_.push_back(v);
      for (const Vertex u : p.data->graph->row(v))
        if (u != v) {
          edges.source.push_back(u);
          edges.destination.push_back(v);
        }
    }
    graph_ = build_csr(edges);
  }
  void begin(int epoch) override {
    const MiniBatchSettings settings = mini_batch_of(p_.strategy);
    const NeighbourSampler sampler(
        graph_,
        {settings.fanouts, settings.replace ? NeighbourRule::replacement : NeighbourRule::uniform});
    auto scratch = sampler.scratch(graph_.rows);
    const MessageFlow flow =
        sampler.sample(seeds_, {p_.train.seed, static_cast<std::uint32_t>(epoch), 0}, scratch);
    const auto degree = [&](Vertex v) { return static_cast<double>(graph_.degree(v)); };
    const auto weight = [&](Vertex v, Vertex u) {
      return p_.data->symmetric ? 1 / std::sqrt((degree(v) + 1) * (degree(u) + 1))
                                : 1 / (degree(v) + 1);
    };
    const auto n = at(graph_.rows);
    a_.assign(flow.blocks.size(), testing::zeros(n, n));
    for (std::size_t l = 0; l < flow.blocks.size(); ++l)
      for (std::int64_t r = 0; r < flow.blocks[l].rows; ++r) {
        const Vertex v = flow.vertices[at(r)];
        a_[l][at(v)][at(v)] = weight(v, v);
        for (const Vertex column : flow.blocks[l].row(r)) {
          const Vertex u = flow.vertices[at(column)];
          a_[l][at(v)][at(u)] +=
              weight(v, u) * degree(v) / static_cast<double>(flow.blocks[l].degree(r));
        }
      }
  }
  Matrix aggregate(int layer, const Matrix& x) override {
    return testing::product(a_[at(layer - 1)], x);
  }
  Matrix adjoint(int layer, const Matrix& dy) override {
    return testing::product(testing::transposed(a_[at(layer - 1)]), dy);
  }

 private:
  const Problem& p_;
  std::vector<Vertex> seeds_;
  Csr graph_;  ///< without self-loops
  std::vector<Matrix> a_;
};

TEST(MiniBatch, LearnsWhatDenseLoopsWithTheDrawnNeighboursLearn) {
  for (const int ranks : {1, 4})
    for (const std::int64_t hidden : {4, 10})
      for (const bool symmetric : {true, false}) {
        MiniBatchSettings settings = sampled(1 << 20, {3, 2});
        settings.replace = hidden == 4;
        Problem p =
            make_problem(random_dataset(40, 260, 6, 3, symmetric), ranks, batches_of(settings));
        p.model.hidden = hidden;
        p.model.bias = false;
        p.model.dropout = 0;
        p.train.optimizer = OptimizerType::sgd;
        p.train.learning_rate = 0.5;
        p.train.epochs = 8;
        DrawnProducts products(p);
        testing::expect_dense_losses(p, products);
      }
}

TEST(MiniBatch, LossesAreThoseOfOneRankWithAllSeeds) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const BatchSampler sampler : {BatchSampler::neighbour, BatchSampler::labor}) {
      const auto data = random_dataset(150, 1200, 12, 4, false);
      const auto on = [&](int ranks) {
        MiniBatchSettings settings = sampled(20, {4, 3});  // the last step has fewer
        settings.sampler = sampler;
        Problem p = make_problem(data, ranks, batches_of(settings));
        p.model.type = type;
        p.model.normalisation = Normalisation::row;
        p.train.epochs = 4;
        return execute(p, sampler == BatchSampler::labor ? "cpu" : "reference");
      };
      const Outcome one = on(1);
      EXPECT_LT(losses(one).back(), losses(one).front());
      for (const int ranks : {2, 3, 4}) {
        const Outcome got = on(ranks);
        for (std::size_t e = 0; e < one.epochs.size(); ++e)
          EXPECT_NEAR(losses(got)[e], losses(one)[e], 1e-5 * losses(one)[e]) << ranks;
        EXPECT_NEAR(*got.epochs.back().scores->test, *one.epochs.back().scores->test, 0.04);
      }
    }
}

/// Counted by hand: a dense product forward, one for the gradient of its weights, and beyond the first
/// layer one for the gradient below. Each has the rows of a block's result, or those of its input where
/// that saves enough of the sparse product.
TEST(MiniBatch, DenseProductsHaveTheRowsOfTheResultUnlessItIsFarNarrower) {
  for (const auto& [hidden, last_has_inputs] : {std::pair{24, false}, std::pair{40, true}})
    for (const ModelType type : {ModelType::gcn, ModelType::sage}) {
      Problem p = make_problem(random_dataset(150, 1200, 40, 5, false), 1,
                               batches_of(sampled(20, {4, 3, 3})));
      p.model.type = type;
      p.model.layers = 3;
      p.model.hidden = hidden;
      p.train.epochs = 1;
      p.train.eval_every = 0;
      const SampledBatches batches(p);
      const double in[] = {40.0, double(hidden), double(hidden)},
                   out[] = {double(hidden), double(hidden), 5};
      double expected = 0;
      for (int step = 0; step < batches.steps(); ++step) {
        const SampledBatch batch = batches.batch(0, 0, step);
        for (std::size_t l = 0; l < 3; ++l) {
          const auto inputs = static_cast<double>(batch.rows[l]),
                     results = static_cast<double>(batch.rows[l + 1]);
          const double rows = l == 2 && last_has_inputs ? inputs : results;
          const double products = l == 0 ? 2 : 3;
          expected += products * in[l] * out[l] * (rows + (type == ModelType::sage ? results : 0));
        }
      }

      double counted = 0;
      const auto programs = record_training(*make_strategy(p), p, 1, {});
      for (const Step& step : programs.front().steps)
        if (const auto* submit = std::get_if<SubmitStep>(&step))
          if (const auto* product = std::get_if<Gemm>(&submit->op)) counted += product->flops() / 2;

      EXPECT_EQ(counted, expected) << type.name << ", hidden " << hidden;
    }
}

// ---- equal work

std::shared_ptr<const Dataset> with_seeds(const std::vector<Vertex>& training) {
  auto data = std::make_shared<Dataset>(*random_dataset(60, 400, 8, 3, true));
  for (auto& split : data->split)
    if (split == Split::train) split = Split::none;
  for (const Vertex v : training) data->split[at(v)] = Split::train;
  return data;
}

TEST(MiniBatch, OneSeedOnOneRankAndNoneOnThree) {
  const auto data = with_seeds({17});
  for (const SeedsFrom seeds : {SeedsFrom::all, SeedsFrom::own}) {
    MiniBatchSettings settings = sampled(1, {3, 3});
    settings.seeds = seeds;
    const auto on = [&](int ranks) {
      Problem p = make_problem(data, ranks, batches_of(settings));
      p.train.epochs = 5;
      return losses(execute(p));
    };
    const auto one = on(1), four = on(4);
    for (std::size_t e = 0; e < one.size(); ++e) EXPECT_NEAR(four[e], one[e], 1e-5 * one[e]);
  }
}

/// Parts with 0, 1 and 10 training vertices: as many steps everywhere, each seed once an epoch.
TEST(MiniBatch, RanksHaveAsManyStepsWhateverTheyOwn) {
  const auto data = with_seeds({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  MiniBatchSettings settings = sampled(2, {3, 3});
  settings.seeds = SeedsFrom::own;
  Problem p = make_problem(data, 3, batches_of(settings));
  for (std::size_t v = 0; v < 60; ++v) p.partition.owner[v] = v == 1 ? 1 : v < 30 ? 2 : 0;
  const SampledBatches batches(p);

  EXPECT_EQ(batches.steps(), 2);  // 11 seeds are shared out: 4, 4 and 3
  for (const int epoch : {0, 1, 5}) {
    std::multiset<Vertex> seeds;
    for (int step = 0; step < batches.steps(); ++step) {
      std::int64_t together = 0;
      for (int rank = 0; rank < 3; ++rank) {
        const SampledBatch batch = batches.batch(rank, epoch, step);
        together += batch.rows.back();
        seeds.insert(batch.vertices->begin(), batch.vertices->begin() + batch.rows.back());
      }
      EXPECT_EQ(together, batches.trained_on(epoch, step));
    }
    EXPECT_EQ(seeds, (std::multiset<Vertex>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  }
  EXPECT_NO_THROW(execute(p));
}

// ---- what travels

/// A row of features for each distinct vertex of a batch that another rank owns, once, with its
/// number to the owner; and the sums of gradients.
TEST(MiniBatch, BytesAreThoseOfDistinctForeignVertices) {
  constexpr int kRanks = 4;
  Problem p =
      make_problem(random_dataset(150, 900, 12, 4, true), kRanks, batches_of(sampled(40, {4, 3})));
  p.train.epochs = 3;
  p.train.eval_every = 0;
  const SampledBatches batches(p);
  const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});
  ASSERT_NO_THROW(check(programs));
  const Placement placement = Placement::uniform(2, 2);
  for (int rank = 0; rank < kRanks; ++rank) {
    double internal = 0, external = 0;
    for (int epoch = 0; epoch < p.train.epochs; ++epoch)
      for (int step = 0; step < batches.steps(); ++step) {
        std::set<Vertex> met;
        const SampledBatch batch = batches.batch(rank, epoch, step);
        const auto own = batch.layers.size();
        for (std::size_t l = 0; l < own; ++l)
          for (const Vertex column : batch.layers[l].forward.csr().columns)
            met.insert((*batch.vertices)[at(column)]);
        met.insert(batch.vertices->begin(), batch.vertices->begin() + batch.rows.back());
        for (const Vertex v : met) {
          const int owner = p.partition.owner[at(v)];
          if (owner != rank) (owner / 2 == rank / 2 ? internal : external) += 12 * 4 + 4;
        }
      }
    double got_internal = 0, got_external = 0;
    const Summary sum = summarise(programs[at(rank)], placement, p.train.epochs);
    for (const Totals* totals : {&sum.setup, &sum.epoch})
      if (const auto pulled = totals->by_kind.find("pull"); pulled != totals->by_kind.end()) {
        got_internal += pulled->second.internal;
        got_external += pulled->second.external;
      }
    EXPECT_NEAR(got_internal, internal, 1e-3);
    EXPECT_NEAR(got_external, external, 1e-3);
    EXPECT_GT(internal + external, 0);
  }
}

/// However many ranks there are: each row is in the memory of one of them, which serves the others.
TEST(MiniBatch, TheTablesOfAllRanksAreOneCopyOfTheFeatures) {
  const auto data = random_dataset(150, 900, 12, 4, true);
  for (const int ranks : {1, 2, 4}) {
    const Problem p = make_problem(data, ranks, batches_of(sampled(40, {4, 3})));
    std::int64_t bytes = 0;
    for (const Program& program : record_training(*make_strategy(p), p, 1, {}))
      for (const Step& step : program.steps)
        if (const auto* made = std::get_if<AllocStep>(&step);
            made && made->name == "store/features")
          bytes += made->tensor.bytes();
    EXPECT_EQ(bytes, 150 * 12 * 4);
  }
}

/// Features in 16 bits are rounded, no more: the weights are those of a training on the rounded
/// features in 32 bits. A batch's rows then travel, and lie in host memory, in half the bytes.
TEST(MiniBatch, HalvesTakeHalfTheBytesAndChangeNothingElse) {
  auto halves = std::make_shared<Dataset>(*random_dataset(150, 900, 12, 4, true));
  halves->features = half_features(halves->features);
  auto rounded = std::make_shared<Dataset>(*halves);
  std::vector<Vertex> all(150);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> values(150 * 12);
  halves->features->read(all, 0, 12, values.data(), 12);
  rounded->features = dense_features(150, 12, values, "rounded", true);
  const auto with = [](const std::shared_ptr<const Dataset>& data, const StrategyConfig& strategy) {
    Problem p = make_problem(data, 2, strategy);
    p.train.epochs = 3;
    return p;
  };
  MiniBatchSettings lru = sampled(40, {4, 3});
  lru.cache = {CachePolicy::lru, 40 * 12 * 2};
  for (const char* kernels : {"cpu", "reference"})
    for (const StrategyConfig& strategy :
         {StrategyConfig{}, batches_of(sampled(40, {4, 3})), batches_of(lru)})
      EXPECT_EQ(losses(execute(with(halves, strategy), kernels)),
                losses(execute(with(rounded, strategy), kernels)));

  const auto cost = [&](const std::shared_ptr<const Dataset>& data) {
    const Problem p = with(data, batches_of(sampled(40, {4, 3})));
    const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});
    check(programs);
    double pulled = 0;
    std::int64_t rows = 0, table = 0;
    for (const Step& step : programs[0].steps) {
      if (const auto* made = std::get_if<AllocStep>(&step); made && made->name == "store/features")
        table = made->tensor.bytes();
      const auto* submit = std::get_if<SubmitStep>(&step);
      const auto* pull = submit == nullptr ? nullptr : std::get_if<Pull>(&submit->op);
      if (pull == nullptr) continue;
      received_bytes(*pull, 0, [&](int, double bytes) { pulled += bytes; });
      rows += pull->index.rows() - (*pull->rows_per_owner)[0];
    }
    return std::tuple(pulled, rows, table, programs[0].peak_bytes[at(Space::device)]);
  };
  const auto [half_bytes, half_rows, half_table, half_device] = cost(halves);
  const auto [bytes, rows, table, device] = cost(rounded);
  EXPECT_EQ(rows, half_rows);
  EXPECT_NEAR(bytes, static_cast<double>(rows) * 12 * 4, 1e-6);
  EXPECT_NEAR(half_bytes, static_cast<double>(rows) * 12 * 2, 1e-6);
  EXPECT_EQ(2 * half_table, table);
  EXPECT_EQ(half_device, device);
}

MiniBatchSettings cached(CachePolicy policy, std::int64_t rows) {
  MiniBatchSettings settings = sampled(40, {4, 3});
  settings.cache = {policy, rows * 12 * 4};
  return settings;
}

/// Kept rows are pulled once, before the first batch, and never again. The weights stay the same to
/// the bit.
TEST(MiniBatch, KeptRowsAreNotPulledAgain) {
  constexpr int kRanks = 3;
  const auto data = random_dataset(150, 900, 12, 4, true);
  const auto with = [&](const MiniBatchSettings& settings) {
    Problem p = make_problem(data, kRanks, batches_of(settings));
    p.train.epochs = 3;
    return p;
  };
  const auto pulled = [](const Problem& p, int rank) {
    std::int64_t rows = 0;
    const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});
    check(programs);
    for (const Step& step : programs[at(rank)].steps)
      if (const auto* submit = std::get_if<SubmitStep>(&step))
        if (const auto* pull = std::get_if<Pull>(&submit->op)) rows += pull->index.rows();
    return rows;
  };
  const Problem plain = with(sampled(40, {4, 3}));
  const auto want = losses(execute(plain));
  for (const CachePolicy policy :
       {CachePolicy::degree, CachePolicy::presampled, CachePolicy::vip}) {
    const Problem p = with(cached(policy, 20));
    const Outcome real = execute(p);
    EXPECT_EQ(losses(real), want);
    const SampledBatches batches(p);
    for (int rank = 0; rank < kRanks; ++rank) {
      const OwnedRows kept = batches.kept(rank);
      EXPECT_EQ(kept.count(), 20);
      EXPECT_EQ((*kept.rows_per_owner)[at(rank)], 0) << "its own";
      std::int64_t hits = 0;
      for (int epoch = 0; epoch < p.train.epochs; ++epoch)
        for (int step = 0; step < batches.steps(); ++step) {
          const WantedRows rows = batches.batch(rank, epoch, step).features;
          hits += rows.kept;
          EXPECT_LE(rows.kept, rows.foreign);
        }
      EXPECT_GT(hits, 20);
      EXPECT_EQ(pulled(p, rank), pulled(plain, rank) + 20 - hits);
      EXPECT_EQ(real.ranks[at(rank)].kept_rows, hits);
    }
  }
}

/// The batches of a rank need rows of others, one after the other. The rank pulls those that a list
/// of the rows needed last does not have: in all epochs, and by link class. The weights stay the
/// same to the bit.
TEST(MiniBatch, RecentRowsAreNotPulledAgain) {
  constexpr int kRanks = 4;
  const auto data = random_dataset(150, 900, 12, 4, true);
  const auto with = [&](const MiniBatchSettings& settings) {
    Problem p = make_problem(data, kRanks, batches_of(settings));
    p.train.epochs = 4;
    return p;
  };
  const auto want = losses(execute(with(sampled(40, {4, 3}))));
  const Placement placement = Placement::uniform(2, 2);
  for (const CachePolicy policy : {CachePolicy::lru, CachePolicy::clock})
    for (const std::int64_t slots : {1, 30, 1000}) {
      Problem p = with(cached(policy, slots));
      const Outcome real = execute(p);
      EXPECT_EQ(losses(real), want);
      p.train.eval_every = 0;
      const SampledBatches batches(p);
      const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});
      ASSERT_NO_THROW(check(programs));
      for (int rank = 0; rank < kRanks; ++rank) {
        testing::RecentlyUsed kept(policy == CachePolicy::lru, at(slots));
        double internal = 0, external = 0;
        std::int64_t foreign = 0, hits = 0;
        for (int epoch = 0; epoch < p.train.epochs; ++epoch)
          for (int step = 0; step < batches.steps(); ++step) {
            const auto vertices = batches.batch(rank, epoch, step).vertices;
            for (const Vertex v : *vertices) {
              const int owner = p.partition.owner[at(v)];
              if (owner == rank) continue;
              ++foreign;
              if (kept.ask(v))
                ++hits;
              else
                (owner / 2 == rank / 2 ? internal : external) += 12 * 4 + 4;
            }
          }
        double got_internal = 0, got_external = 0;
        const Summary sum = summarise(programs[at(rank)], placement, p.train.epochs);
        for (const Totals* totals : {&sum.setup, &sum.epoch})
          if (const auto pulled = totals->by_kind.find("pull"); pulled != totals->by_kind.end()) {
            got_internal += pulled->second.internal;
            got_external += pulled->second.external;
          }
        EXPECT_NEAR(got_internal, internal, 1e-3);
        EXPECT_NEAR(got_external, external, 1e-3);
        EXPECT_EQ(slots < 30, hits == 0) << "a batch has more rows than are kept: " << hits;
        for (const auto& [got_foreign, got_hits] :
             {std::pair(programs[at(rank)].foreign_rows, programs[at(rank)].kept_rows),
              std::pair(real.ranks[at(rank)].foreign_rows, real.ranks[at(rank)].kept_rows)}) {
          EXPECT_EQ(got_foreign, foreign);
          EXPECT_EQ(got_hits, hits);
        }
      }
    }
}

/// Kept rows stay where they are from the first batch on, also when a batch is the largest so far.
TEST(MiniBatch, NoBatchCopiesTheRowsThatAreKept) {
  for (const CachePolicy policy : {CachePolicy::degree, CachePolicy::lru, CachePolicy::clock}) {
    Problem p =
        make_problem(random_dataset(600, 3000, 12, 4, true), 2, batches_of(cached(policy, 60)));
    p.train.epochs = 10;
    p.train.eval_every = 0;
    const SampledBatches batches(p);
    std::size_t first = 0, most = 0;
    for (int epoch = 0; epoch < p.train.epochs; ++epoch)
      for (int step = 0; step < batches.steps(); ++step) {
        const std::size_t rows = batches.batch(0, epoch, step).vertices->size();
        if (epoch == 0 && step == 0) first = rows;
        most = std::max(most, rows);
      }
    ASSERT_GT(most, first) << "else nothing would have to grow";
    ASSERT_LT(most, first + first / 4);

    int copies = 0;
    for (const Program& program : record_training(*make_strategy(p), p, p.train.epochs, {}))
      for (const Step& step : program.steps)
        if (const auto* submit = std::get_if<SubmitStep>(&step))
          copies += submit->lane == Lane::store && std::holds_alternative<Copy>(submit->op) ? 1 : 0;

    EXPECT_EQ(copies, 0);
  }
}

/// The forecast of such a cache is what the first epoch finds, which begins without any row.
TEST(MiniBatch, AForecastHasTheHitsOfTheFirstEpoch) {
  Problem p = make_problem(random_dataset(150, 900, 12, 4, true), 2,
                           batches_of(cached(CachePolicy::lru, 40)));
  p.train.epochs = 1;
  p.train.eval_every = 0;

  const auto sizes = make_strategy(p)->batch_sizes();
  const Outcome real = execute(p);

  double foreign = 0, kept = 0;
  for (const RankOutcome& rank : real.ranks) {
    foreign += static_cast<double>(rank.foreign_rows);
    kept += static_cast<double>(rank.kept_rows);
  }
  EXPECT_GT(kept, 0);
  EXPECT_NEAR(sizes->foreign * static_cast<double>(sizes->batches), foreign, 1e-6);
  EXPECT_NEAR(sizes->kept * static_cast<double>(sizes->batches), kept, 1e-6);
}

/// On a graph with hubs, each policy keeps rows that are needed more often than any.
TEST(MiniBatch, KeepsRowsThatAreNeededOften) {
  auto data = std::make_shared<Dataset>(*random_dataset(400, 1600, 12, 4, true));
  Sequence draws(3, Purpose::edges, 0);
  EdgeList edges{400, {}, {}};
  for (int i = 0; i < 1600; ++i) {
    const double u = draws.uniform();
    edges.source.push_back(static_cast<Vertex>(400 * u * u * u));
    edges.destination.push_back(static_cast<Vertex>(draws.below(400)));
  }
  data->graph = std::make_shared<const Csr>(symmetrise(build_csr(edges)));
  const auto hits = [&](CachePolicy policy) {
    MiniBatchSettings settings = sampled(20, {3, 2});
    settings.cache = {policy, 40 * 12 * 4};
    const Problem p = make_problem(data, 2, batches_of(settings));
    const SampledBatches batches(p);
    double kept = 0, foreign = 0;
    for (int step = 0; step < batches.steps(); ++step) {
      const WantedRows rows = batches.batch(0, 0, step).features;
      kept += static_cast<double>(rows.kept);
      foreign += static_cast<double>(rows.foreign);
    }
    return kept / foreign;
  };
  const double any = 40.0 / 200;  // the other rank's vertices

  for (const CachePolicy policy : {CachePolicy::degree, CachePolicy::presampled, CachePolicy::vip})
    EXPECT_GT(hits(policy), 1.5 * any);
}

// ---- clusters

StrategyConfig clusters_of(int parts, int together) {
  MiniBatchSettings settings;
  settings.sampler = BatchSampler::cluster;
  settings.clusters = parts;
  settings.together = together;
  return batches_of(settings);
}

TEST(MiniBatch, ClustersHaveAllEdgesAmongTheirVertices) {
  const Problem p = make_problem(random_dataset(100, 600, 8, 3, true), 2, clusters_of(10, 3));
  const SampledBatches batches(p);
  EXPECT_EQ(batches.steps(), 2);  // 4 batches of 3, 3, 3 and 1 cluster
  for (const int epoch : {0, 3}) {
    std::multiset<Vertex> met;
    for (int step = 0; step < 2; ++step) {
      std::int64_t training = 0;
      for (int rank = 0; rank < 2; ++rank) {
        const SampledBatch batch = batches.batch(rank, epoch, step);
        const auto& vertices = *batch.vertices;
        met.insert(vertices.begin(), vertices.end());
        const std::set<Vertex> within(vertices.begin(), vertices.end());
        std::set<std::pair<Vertex, Vertex>> want, got;
        for (const Vertex v : vertices) {
          training += p.data->split[at(v)] == Split::train ? 1 : 0;
          want.emplace(v, v);  // of the model
          for (const Vertex u : p.data->graph->row(v))
            if (within.contains(u)) want.emplace(v, u);
        }
        ASSERT_EQ(batch.layers.size(), 2U);
        const Csr& block = batch.layers[1].forward.csr();
        for (std::int64_t r = 0; r < block.rows; ++r)
          for (const Vertex column : block.row(r))
            got.emplace(vertices[at(r)], vertices[at(column)]);
        EXPECT_EQ(got, want);
      }
      EXPECT_EQ(batches.trained_on(epoch, step), training);
    }
    EXPECT_EQ(met.size(), 100U) << "each vertex once";
    EXPECT_EQ(std::set<Vertex>(met.begin(), met.end()).size(), 100U);
  }
}

TEST(MiniBatch, OneClusterIsTheWholeGraph) {
  const auto data = random_dataset(90, 500, 12, 4, true);
  for (const ModelType type : {ModelType::gcn, ModelType::sage}) {
    const auto on = [&](int ranks, const StrategyConfig& strategy) {
      Problem p = make_problem(data, ranks, strategy);
      p.model.type = type;
      p.train.epochs = 6;
      return losses(execute(p));
    };
    const auto want = on(1, {});
    for (const int ranks : {1, 3}) {
      const auto got = on(ranks, clusters_of(1, 1));
      for (std::size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(got[e], want[e], 1e-5 * want[e]);
    }
  }
}

// ---- GraphSAINT

constexpr std::array kSaint{BatchSampler::saint_node, BatchSampler::saint_edge,
                            BatchSampler::saint_walk};

StrategyConfig saint_of(BatchSampler sampler, std::int64_t draws) {
  MiniBatchSettings settings;
  settings.sampler = sampler;
  settings.batch = draws;
  settings.coverage = 200;
  return batches_of(settings);
}

/// Σ over an epoch's targets of weight · (A·x), with the batches' A and weights, is in the mean that
/// of the whole graph over all training vertices.
TEST(MiniBatch, SaintBatchesAreRightInTheMean) {
  for (const BatchSampler sampler : kSaint)
    for (const int ranks : {1, 3}) {
      StrategyConfig strategy = saint_of(sampler, 12);
      auto settings = mini_batch_of(strategy);
      settings.coverage = 2000;
      strategy.own = settings;
      const Problem p = make_problem(random_dataset(60, 500, 6, 3, true), ranks, strategy);
      const SampledBatches batches(p);
      const auto x = [](Vertex v) { return 1.0 + v % 7; };
      double mean = 0, weights = 0, whole = 0, training = 0;
      constexpr int kEpochs = 400;
      for (int epoch = 0; epoch < kEpochs; ++epoch)
        for (int step = 0; step < batches.steps(); ++step)
          for (int rank = 0; rank < ranks; ++rank) {
            const SampledBatch batch = batches.batch(rank, epoch, step);
            const auto& vertices = *batch.vertices;
            const SparseMatrix& a = batch.layers[0].forward;
            auto weight = batch.target_weights->begin();
            for (std::int64_t r = 0; r < batch.rows.back(); ++r) {
              if (p.data->split[at(vertices[at(r)])] != Split::train) continue;
              for (std::size_t e = 0; e < a.csr().row(r).size(); ++e)
                mean += double{*weight} * double{a.row_values(r)[e]} *
                        x(vertices[at(a.csr().row(r)[e])]) / kEpochs;
              weights += double{*weight++} / kEpochs;
            }
            ASSERT_EQ(weight, batch.target_weights->end());
          }
      const SparseMatrix a = normalised_adjacency(*p.data, p.model);
      for (Vertex v = 0; v < 60; ++v) {
        if (p.data->split[at(v)] != Split::train) continue;
        ++training;
        for (std::size_t e = 0; e < a.csr().row(v).size(); ++e)
          whole += double{a.row_values(v)[e]} * x(a.csr().row(v)[e]);
      }

      EXPECT_NEAR(weights / training, 1, 0.02) << static_cast<int>(sampler);
      EXPECT_NEAR(mean / whole, 1, 0.02) << static_cast<int>(sampler);
      EXPECT_NEAR(batches.trained_on(0, 0) * batches.steps(), training, 1e-9);
    }
}

/// The matrix of an epoch's one subgraph and the weights of its targets, by the paper's formulas.
class SaintProducts final : public testing::DenseProducts {
 public:
  SaintProducts(const Problem& p, SaintRule rule, std::int64_t draws, int coverage)
      : p_(p), a_(normalised_adjacency(*p.data, p.model)) {
    const auto n = p.data->vertices();
    EdgeList edges{n, {}, {}};
    std::vector<double> squares(at(n), 0);
    for (Vertex v = 0; v < n; ++v)
      for (std::size_t e = 0; e < a_.csr().row(v).size(); ++e) {
        const Vertex u = a_.csr().row(v)[e];
        squares[at(u)] += double{a_.row_values(v)[e]} * double{a_.row_values(v)[e]};
        if (u == v) continue;
        edges.source.push_back(u);
        edges.destination.push_back(v);
      }
    graph_ = build_csr(edges);
    sampler_.emplace(graph_, SaintSampling{rule, draws, 2}, squares);
    norm_ = normalisation_of(*sampler_, coverage, p.train.seed);
  }
  void begin(int epoch) override {
    const auto n = at(p_.data->vertices());
    const auto vertices = sampler_->vertices({p_.train.seed, static_cast<std::uint32_t>(epoch), 0});
    there_.assign(n, false);
    for (const Vertex v : vertices) there_[at(v)] = true;
    dense_ = testing::zeros(n, n);
    for (std::size_t v = 0; v < n; ++v)
      for (std::size_t e = 0; there_[v] && e < a_.csr().row(static_cast<Vertex>(v)).size(); ++e) {
        const auto u = at(a_.csr().row(static_cast<Vertex>(v))[e]);
        if (!there_[u]) continue;
        double alpha = 1;
        for (EdgeIndex k = graph_.offsets[v]; k < graph_.offsets[v + 1]; ++k)
          if (at(graph_.columns[at(k)]) == u) alpha = double{norm_.entries[at(k)]};
        dense_[v][u] = double{a_.row_values(static_cast<Vertex>(v))[e]} / alpha;
      }
  }
  Matrix aggregate(int, const Matrix& x) override { return testing::product(dense_, x); }
  Matrix adjoint(int, const Matrix& dy) override {
    return testing::product(testing::transposed(dense_), dy);
  }
  double target_weight(std::size_t vertex) const override {
    return there_[vertex] ? 1 / double{norm_.vertices[vertex]} : 0;
  }

 private:
  const Problem& p_;
  SparseMatrix a_;
  Csr graph_;  ///< without self-loops
  std::optional<SaintSampler> sampler_;
  SaintNormalisation norm_;
  std::vector<bool> there_;
  Matrix dense_;
};

TEST(MiniBatch, LearnsWhatDenseLoopsOnSaintSubgraphsLearn) {
  for (const auto& [sampler, rule, draws] :
       {std::tuple{BatchSampler::saint_node, SaintRule::node, 40},
        std::tuple{BatchSampler::saint_edge, SaintRule::edge, 20},
        std::tuple{BatchSampler::saint_walk, SaintRule::walk, 20}})
    for (const std::int64_t hidden : {4, 10}) {
      Problem p = make_problem(random_dataset(40, 260, 6, 3, true), 1, saint_of(sampler, draws));
      p.model.hidden = hidden;
      p.model.bias = false;
      p.model.dropout = 0;
      p.train.optimizer = OptimizerType::sgd;
      p.train.learning_rate = 0.5;
      p.train.epochs = 6;
      ASSERT_EQ(SampledBatches(p).steps(), 1);
      SaintProducts products(p, rule, draws, 200);

      const auto got = losses(execute(p, hidden == 4 ? "cpu" : "reference")),
                 want = DenseGcn(p).losses(products);

      for (std::size_t e = 0; e < got.size(); ++e)
        EXPECT_NEAR(got[e], want[e], 3e-5 * want[e]) << "epoch " << e;
    }
}

/// Subgraph k of an epoch is the same on any number of ranks, in another step; with steps too small
/// to matter to each other the epoch changes the weights as much.
TEST(MiniBatch, SaintSubgraphsOfRanksAreThoseOfStepsOfOneRank) {
  for (const BatchSampler sampler : kSaint) {
    const auto run = [&](int ranks) {
      Problem p = make_problem(random_dataset(80, 600, 6, 3, true), ranks,
                               saint_of(sampler, sampler == BatchSampler::saint_node ? 20 : 10));
      p.model.dropout = 0;
      p.train.epochs = 1;
      p.train.optimizer = OptimizerType::sgd;
      EXPECT_EQ(SampledBatches(p).steps(), 4 / ranks);
      p.train.learning_rate = 1e-3F * static_cast<float>(ranks);
      return std::pair(losses(execute(p))[0], after_epochs(p, 1));
    };
    const auto [loss, weights] = run(1);
    for (const int ranks : {2, 4}) {
      const auto [got_loss, got] = run(ranks);
      EXPECT_NEAR(got_loss, loss, 2e-3 * loss);
      for (std::size_t i = 0; i < got.size(); ++i)
        for (std::size_t j = 0; j < got[i].size(); ++j) ASSERT_NEAR(got[i][j], weights[i][j], 2e-5);
    }
  }
}

/// A graph with edges among its first vertices alone.
std::shared_ptr<const Dataset> with_isolated(std::int64_t connected) {
  auto data = std::make_shared<Dataset>(*random_dataset(60, 400, 8, 3, true));
  EdgeList edges{60, {}, {}};
  for (Vertex v = 0; v < 60; ++v)
    for (const Vertex u : data->graph->row(v))
      if (v < connected && u < connected) {
        edges.source.push_back(u);
        edges.destination.push_back(v);
      }
  data->graph = std::make_shared<const Csr>(build_csr(edges));
  return data;
}

/// The number of training vertices that a sampler cannot draw equals that of those that it never
/// draws; a note tells it.
TEST(MiniBatch, SaintSaysWhichTrainingVerticesItNeverDraws) {
  const auto data = with_isolated(40);
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const BatchSampler sampler : kSaint) {
      Problem p = make_problem(data, 2, saint_of(sampler, 8));
      p.model.type = type;
      const SampledBatches batches(p);
      std::set<Vertex> met;
      for (int epoch = 0; epoch < 100; ++epoch)
        for (int step = 0; step < batches.steps(); ++step) {
          const auto vertices = batches.batch(0, epoch, step).vertices;
          met.insert(vertices->begin(), vertices->end());
        }
      std::int64_t never = 0, training = 0;
      for (Vertex v = 0; v < 60; ++v)
        if (data->split[at(v)] == Split::train) {
          ++training;
          never += met.contains(v) ? 0 : 1;
        }

      EXPECT_EQ(batches.never_drawn(), never);
      const bool all = sampler == BatchSampler::saint_walk ||
                       (sampler == BatchSampler::saint_node && type == ModelType::gcn);
      EXPECT_EQ(never == 0, all);
      const auto notes = make_strategy(p)->notes();
      ASSERT_EQ(notes.size(), all ? 0U : 1U);
      if (!all) {
        EXPECT_EQ(notes[0].find(fmt::format("{} of {} training vertices are never trained on",
                                            never, training)),
                  0U);
      }
    }
}

/// Without any edge a walk stays where it begins, and a GCN's vertices have their own rows: only
/// settings that draw nothing are refused.
TEST(MiniBatch, SaintOnAGraphWithoutEdgesTrainsWhereItDrawsVertices) {
  const auto run = [&](BatchSampler sampler, ModelType type) {
    Problem p = make_problem(with_isolated(0), 2, saint_of(sampler, 8));
    p.model.type = type;
    p.train.epochs = 2;
    const auto got = losses(execute(p));
    return std::isfinite(got.back()) && got.back() > 0;
  };
  EXPECT_TRUE(run(BatchSampler::saint_walk, ModelType::sage));
  EXPECT_TRUE(run(BatchSampler::saint_node, ModelType::gcn));
  EXPECT_THROW(run(BatchSampler::saint_node, ModelType::sage), ConfigError);
  EXPECT_THROW(run(BatchSampler::saint_edge, ModelType::gcn), ConfigError);
}

// ---- memory

/// The bound is above what any epoch takes, and what a batch of its sizes takes: with all vertices as
/// seeds and all their neighbours it is met.
TEST(MiniBatch, NoBatchTakesMoreMemoryThanTheBound) {
  const auto data = random_dataset(120, 700, 12, 4, true);
  const auto peak = [](const Strategy& strategy, const Problem& p, int epochs) {
    std::int64_t most = 0;
    for (const Program& program : record_training(strategy, p, epochs, {}))
      most = std::max(most, program.peak_bytes[0]);
    return most;
  };
  for (const StrategyConfig& config :
       {batches_of(sampled(30, {4, 3})), batches_of(cached(CachePolicy::degree, 20)),
        batches_of(cached(CachePolicy::lru, 20)), batches_of(sampled(1 << 20, {-1, -1})),
        clusters_of(6, 2), saint_of(BatchSampler::saint_walk, 10)})
    for (const int eval_every : {0, 1, 5}) {
      Problem p = make_problem(data, 2, config);
      p.train.epochs = 12;
      p.train.eval_every = eval_every;
      const auto strategy = make_strategy(p);
      const auto largest = strategy->with_largest_batches();
      ASSERT_NE(largest, nullptr);

      const std::int64_t bound = peak(*largest, p, 1), drawn = peak(*strategy, p, 12);

      EXPECT_LE(drawn, bound);
      EXPECT_LE(bound, 8 * drawn) << "a bound that says something";
    }
}

TEST(MiniBatch, TheBoundOfAllVerticesWithAllNeighboursIsWhatTheyTake) {
  auto data = std::make_shared<Dataset>(*random_dataset(60, 500, 12, 4, true));
  std::fill(data->split.begin(), data->split.end(), Split::train);
  Problem p = make_problem(data, 1, batches_of(sampled(1 << 20, {-1, -1})));
  p.train.epochs = 3;
  p.train.eval_every = 0;
  const auto strategy = make_strategy(p);
  const auto peak = [&](const Strategy& s) {
    return static_cast<double>(record_training(s, p, 3, {})[0].peak_bytes[0]);
  };

  const double bound = peak(*strategy->with_largest_batches()), drawn = peak(*strategy);

  EXPECT_GE(bound, drawn);
  EXPECT_LE(bound, drawn + 3 * 2 * 2 * 60 * 4) << "but for who validates and is tested";
}

/// Most vertices have fewer neighbours than a fanout asks for, which the certain bound cannot count on.
TEST(MiniBatch, LikelyMemoryIsNotExceededAndNearerThanTheBound) {
  const auto data = random_dataset(20000, 40000, 12, 4, true);
  for (const StrategyConfig& config :
       {batches_of(sampled(500, {10, 10})), batches_of(sampled(500, {-1, 3}))}) {
    Problem p = make_problem(data, 2, config);
    p.train.epochs = 2;
    p.train.eval_every = 0;
    const auto peak = [&](const Strategy& strategy, int epochs) {
      std::int64_t most = 0;
      for (const auto& program : record_shared(TrainingBody(strategy, p), epochs, {}, false))
        most = std::max(most, program->peak_bytes[at(Space::device)]);
      return static_cast<double>(most);
    };
    const auto strategy = make_strategy(p);
    const double drawn = peak(*strategy, 2), bound = peak(*strategy->with_largest_batches(), 1);
    MiniBatchSettings settings = mini_batch_of(config);
    settings.sizes = BatchSizesFrom::likely;
    p.strategy = batches_of(settings);

    const double likely = peak(*make_strategy(p), 1);

    EXPECT_LE(drawn, likely);
    EXPECT_LE(likely, 2.5 * drawn);
    EXPECT_LT(likely, 0.7 * bound);
  }
}

/// In a dense graph the batches have every vertex on all levels below the seeds, as the bound has.
TEST(MiniBatch, CountedBatchesOfADenseGraphTravelAsDrawnOnesDo) {
  auto data = std::make_shared<Dataset>(*random_dataset(60, 1600, 12, 4, true));
  std::fill(data->split.begin(), data->split.end(), Split::train);
  MiniBatchSettings settings = sampled(10, {-1, -1});
  settings.seeds = SeedsFrom::own;
  const auto pulled = [&](BatchSizesFrom sizes, int rank, int& pulls) {
    settings.sizes = sizes;
    Problem p = make_problem(data, 3, batches_of(settings));
    p.train.eval_every = 0;
    const auto programs = record_training(*make_strategy(p), p, 3, {});
    EXPECT_NO_THROW(check(programs));
    const Summary sum = summarise(programs[at(rank)], Placement::uniform(3, 1), 3);
    pulls = static_cast<int>(sum.epoch.by_kind.at("spmm").count);
    return sum.setup.by_kind.at("pull").external + sum.epoch.by_kind.at("pull").external;
  };
  for (int rank = 0; rank < 3; ++rank) {
    int drawn_products = 0, counted_products = 0;

    const double drawn = pulled(BatchSizesFrom::draws, rank, drawn_products),
                 counted = pulled(BatchSizesFrom::bounds, rank, counted_products);

    EXPECT_GT(drawn, 0);
    EXPECT_DOUBLE_EQ(counted, drawn);
    EXPECT_EQ(counted_products, drawn_products) << "as many steps";
  }
}

/// What is drawn is at most what is counted, on every level, and the work of drawing is counted too.
TEST(MiniBatch, CountsTheSizesThatNoDrawnBatchExceeds) {
  MiniBatchSettings settings = sampled(20, {3, 3, 3});
  const auto data = random_dataset(120, 700, 12, 4, true);
  const auto sizes_of = [&](BatchSizesFrom from) {
    settings.sizes = from;
    Problem p = make_problem(data, 2, batches_of(settings));
    p.model.layers = 3;
    return make_strategy(p)->batch_sizes().value();
  };

  const BatchSizes drawn = sizes_of(BatchSizesFrom::draws),
                   counted = sizes_of(BatchSizesFrom::bounds);

  EXPECT_EQ(counted.steps, drawn.steps);
  for (std::size_t l = 0; l < 4; ++l) {
    EXPECT_EQ(counted.vertices[l].most, drawn.vertices[l].bound);
    EXPECT_EQ(counted.vertices[l].mean, static_cast<double>(drawn.vertices[l].bound));
    EXPECT_GE(counted.vertices[l].most, drawn.vertices[l].most);
  }
  for (std::size_t l = 0; l < 3; ++l) EXPECT_EQ(counted.edges[l].most, drawn.edges[l].bound);
  EXPECT_EQ(counted.host_bytes.most, drawn.host_bytes.bound);
  EXPECT_GE(counted.foreign, drawn.foreign);
}

// ---- programs

/// The first batch is on the device when the time of the first epoch begins: the host waits for an
/// event behind all that set-up has issued to the lanes that load.
TEST(MiniBatch, TheFirstEpochBeginsWhenItsFirstBatchIsLoaded) {
  Problem p =
      make_problem(random_dataset(120, 700, 12, 4, true), 2, batches_of(sampled(30, {4, 3})));
  for (const Program& program : record_training(*make_strategy(p), p, 1, {})) {
    using Clock = std::map<Lane, std::uint32_t>;  // items of each lane
    Clock issued, done;                           // done: as the host knows
    std::map<Lane, Clock> waited;                 // the items that the next item of a lane follows
    std::map<std::pair<Lane, std::uint32_t>, Clock> behind;  // the same of each position
    const auto join = [](Clock& to, const Clock& from) {
      for (const auto& [lane, items] : from) to[lane] = std::max(to[lane], items);
    };
    for (const Step& step : program.steps) {
      if (const auto* phase = std::get_if<PhaseStep>(&step); phase && phase->phase.in_epoch())
        break;
      std::optional<Lane> lane;
      if (const auto* item = std::get_if<SubmitStep>(&step)) lane = item->lane;
      if (const auto* item = std::get_if<DeclareStep>(&step)) lane = item->lane;
      if (const auto* item = std::get_if<HostStep>(&step)) lane = item->lane;
      if (const auto* item = std::get_if<WaitStep>(&step)) {
        lane = item->lane;
        join(waited[*lane], behind[{item->event.lane, item->event.position}]);
      }
      if (const auto* sync = std::get_if<SyncStep>(&step))
        join(done, behind[{sync->event.lane, sync->event.position}]);
      if (!lane) continue;
      waited[*lane][*lane] = ++issued[*lane];
      behind[{*lane, issued[*lane]}] = waited[*lane];
    }
    EXPECT_GT(issued[Lane::store], 0);
    for (const Lane lane : {Lane::store, Lane::copy, Lane::compute})
      EXPECT_EQ(done[lane], issued[lane]) << static_cast<int>(lane);
  }
}

TEST(MiniBatch, ProgramsAreThoseOfTheRealRunAndSafe) {
  for (const int ranks : {1, 3}) {
    Problem p =
        make_problem(random_dataset(120, 700, 12, 4, true), ranks, batches_of(sampled(30, {4, 3})));
    p.train.epochs = 3;
    SCOPED_TRACE(ranks);
    testing::expect_as_recorded(p);
  }
}

/// It goes on from the middle of the run, on another number of ranks: the draws are those of the
/// epoch.
TEST(MiniBatch, ARunThatGoesOnDrawsWhatItWouldHaveDrawn) {
  const auto data = random_dataset(120, 700, 12, 4, true);
  const auto on = [&](int ranks) {
    Problem p = make_problem(data, ranks, batches_of(sampled(30, {4, 3})));
    p.train.epochs = 6;
    return p;
  };
  Problem p = on(2);
  std::shared_ptr<const Checkpoint> kept;
  ExecuteOptions options;
  options.kernels = "reference";
  options.control.checkpoint_every = 3;
  options.keep = [&](const Checkpoint& c) {
    if (c.epochs == 3) kept = std::make_shared<const Checkpoint>(c);
  };
  const auto whole = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));
  options.control.resume = kept;
  for (const int ranks : {2, 3}) {
    p = on(ranks);
    const auto rest = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));
    ASSERT_EQ(rest.size(), 3U);
    for (std::size_t e = 0; e < rest.size(); ++e) {
      EXPECT_NEAR(rest[e], whole[e + 3], ranks == 2 ? 0 : 1e-5 * whole[e + 3]);
    }
  }
}

/// It goes on between two batches of an epoch. On as many ranks, losses and weights are equal to
/// the bit; with the seeds of all ranks together they are on another number of ranks, too.
TEST(MiniBatch, ARunGoesOnFromWithinAnEpoch) {
  const auto data = random_dataset(120, 700, 12, 4, true);
  MiniBatchSettings global = sampled(12, {4, 3}), local = sampled(6, {4, 3});
  local.seeds = SeedsFrom::own;
  local.cache = {CachePolicy::lru, 40 * 12 * 4};
  for (const StrategyConfig& strategy :
       {batches_of(global), batches_of(local), clusters_of(10, 2), saint_of(kSaint[2], 5)}) {
    const bool any_ranks = mini_batch_of(strategy).seeds == SeedsFrom::all;
    const auto on = [&](int ranks) {
      Problem p = make_problem(data, ranks, strategy);
      p.train.epochs = 3;
      return p;
    };
    Problem p = on(2);
    const int steps = SampledBatches(p).steps();
    ASSERT_GE(steps, 3);
    ExecuteOptions options;
    options.kernels = "reference";
    options.control.checkpoint_steps = 2;
    options.control.checkpoint_every = 3;
    std::vector<Checkpoint> kept;
    options.keep = [&](const Checkpoint& c) { kept.push_back(c); };
    const auto whole = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));
    const Checkpoint last = kept.back();
    ASSERT_EQ(last.epochs, 3);
    kept.pop_back();
    EXPECT_EQ(std::ssize(kept), 3 * ((steps - 1) / 2));
    for (const Checkpoint& from : kept) {
      EXPECT_EQ(from.steps % 2, 0);
      options.control.resume = std::make_shared<const Checkpoint>(from);
      for (const int ranks : {2, 3}) {
        if (ranks == 3 && !any_ranks) continue;
        p = on(ranks);
        Checkpoint end;
        options.keep = [&](const Checkpoint& c) { end = c; };

        const auto rest =
            losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));

        ASSERT_EQ(rest.size(), at(3 - from.epochs));
        for (std::size_t e = 0; e < rest.size(); ++e) {
          const double want = whole[e + at(from.epochs)];
          EXPECT_NEAR(rest[e], want, ranks == 2 ? 0 : 1e-5 * want) << from.steps;
        }
        if (ranks == 2) {
          EXPECT_EQ(end.state, last.state);
        }
      }
    }
  }
}

/// With settings by which an epoch has fewer steps than have been done.
TEST(MiniBatch, ACheckpointWithinAnEpochOfOtherStepsIsRefused) {
  const Problem p =
      make_problem(random_dataset(120, 700, 12, 4, true), 2, batches_of(sampled(1000, {4, 3})));
  ExecuteOptions options;
  options.control.resume = std::make_shared<const Checkpoint>(Checkpoint{1, {}, 2, {0.5, 0.5}});

  EXPECT_THROW(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}), ConfigError);
}

/// Else the arrays of all batches of the epochs that are recorded would be in memory at once.
TEST(MiniBatch, ARecordingKeepsNoArrays) {
  Recorder rt({});
  const Buffer numbers(rt, {3, 1}, DType::i32, "indices/any"),
      values(rt, {3, 1}, DType::f32, "any");
  auto list = std::make_shared<const std::vector<Vertex>>(3);
  auto floats = std::make_shared<const std::vector<float>>(3);
  const std::weak_ptr<const std::vector<Vertex>> kept_list = list;
  const std::weak_ptr<const std::vector<float>> kept_floats = floats;

  rt.submit(Lane::copy, Load{IndexArray{std::move(list)}, numbers.tensor()});
  rt.submit(Lane::copy, Load{FloatArray{std::move(floats)}, values.tensor()});

  EXPECT_TRUE(kept_list.expired());
  EXPECT_TRUE(kept_floats.expired());
  EXPECT_NE(to_string(rt.program()).find("indices"), std::string::npos);
}

// ---- what cannot be

TEST(MiniBatch, SaysWhichSettingsCannotBe) {
  const auto data = random_dataset(40, 160, 8, 3, true);
  const auto why = [&](const auto& change) -> std::string {
    Problem p = make_problem(data, 2, batches_of(sampled(10, {4, 3})));
    change(p);
    try {
      make_strategy(p);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "possible";
  };
  EXPECT_EQ(why([](Problem& p) { p.model.layers = 3; }),
            "strategy.fanouts: found [4, 3], expected a number for each of the 3 layers of the "
            "model, the first at the seeds, such as 10 neighbours, or -1 for all");
  EXPECT_EQ(why([](Problem& p) {
              p.strategy = batches_of(sampled(10, {4, 0}));
            }),
            "strategy.fanouts: found 0, expected -1 (all neighbours) or a number >= 1");
  EXPECT_EQ(
      why([](Problem& p) { p.strategy = saint_of(BatchSampler::saint_walk, 21); }),
      "strategy.batch: found 21, but 20 walks of 2 edges already cover all 40 vertices of the "
      "graph: set it to 20 or fewer");
  EXPECT_EQ(why([](Problem& p) {
              p.strategy = saint_of(BatchSampler::saint_edge, std::int64_t{1} << 62);
            }),
            "strategy.batch: found 4611686018427387904, but 20 edges already cover all 40 "
            "vertices of the graph: set it to 20 or fewer");
  EXPECT_EQ(why([](Problem& p) { p.model.sparse_input = true; }),
            "model.sparse_input: feature rows are pulled unchanged from their owners: set it to "
            "false, or use another strategy.type");
}

}  // namespace
}  // namespace orrery
