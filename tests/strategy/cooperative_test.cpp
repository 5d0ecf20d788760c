// Batches that the ranks of a server compute together: they are those of one rank with all the
// seeds, and nothing of them is in a server twice.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/product/cooperative_batch.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/within_bound.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

MiniBatchSettings together(std::int64_t batch, std::vector<int> fanouts) {
  MiniBatchSettings settings;
  settings.batch = batch;
  settings.fanouts = std::move(fanouts);
  settings.seeds = SeedsFrom::all;
  settings.cooperative = true;
  return settings;
}

StrategyConfig strategy_of(MiniBatchSettings settings, int ranks_per_server) {
  StrategyConfig config;
  config.type = "mini_batch";
  config.first_layer = FirstLayer::recompute;
  config.ranks_per_server = ranks_per_server;
  config.own = std::move(settings);
  return config;
}

Problem problem_of(const std::shared_ptr<const Dataset>& data, int servers, int ranks_per_server,
                   const MiniBatchSettings& settings) {
  Problem problem =
      make_problem(data, servers * ranks_per_server, strategy_of(settings, ranks_per_server));
  problem.train.epochs = 3;
  return problem;
}

constexpr std::pair<int, int> kWorlds[] = {{1, 2}, {1, 3}, {2, 2}};

TEST(CooperativeBatches, HaveTheLossesOfOneRankWithAllSeeds) {
  const auto data = random_dataset(120, 900, 12, 4, false);
  struct Case {
    ModelType type;
    BatchSampler sampler;
    bool replace, learns;
  };
  for (const Case& c : {Case{ModelType::gcn, BatchSampler::neighbour, false, false},
                        Case{ModelType::sage, BatchSampler::neighbour, true, false},
                        Case{ModelType::sage, BatchSampler::labor, false, true},
                        Case{ModelType::gat, BatchSampler::neighbour, false, false},
                        Case{ModelType::resgcn, BatchSampler::all, false, false},
                        Case{ModelType::sgc, BatchSampler::neighbour, false, true}}) {
    MiniBatchSettings settings = together(30, {4, 3});
    settings.sampler = c.sampler;
    settings.replace = c.replace;
    if (c.sampler == BatchSampler::all) settings.fanouts.clear();
    const auto with = [&](int servers, int ranks, bool cooperative) {
      settings.cooperative = cooperative;
      Problem p = problem_of(data, servers, ranks, settings);
      if (c.learns) p.strategy.learned.emplace();
      p.model.type = c.type;
      p.model.dropout = 0.2;
      p.model.attention_dropout = c.type == ModelType::gat ? 0.2 : 0;
      return losses(execute(p, "cpu"));
    };
    const std::vector<double> want = with(1, 1, false);
    for (const auto& [servers, ranks] : kWorlds) {
      const std::vector<double> got = with(servers, ranks, true);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-4 * want[i])
            << c.type.name << ' ' << servers << 'x' << ranks;
    }
  }
}

TEST(CooperativeBatches, HaveEveryVertexOnceInAServer) {
  const auto data = random_dataset(200, 1500, 12, 4, true);
  for (const SeedsFrom seeds : {SeedsFrom::own, SeedsFrom::all})
    for (const auto& [servers, ranks] : kWorlds) {
      MiniBatchSettings settings = together(20, {4, 3});
      settings.seeds = seeds;
      const Problem p = problem_of(data, servers, ranks, settings);
      const SampledBatches batches(p);
      settings.cooperative = false;
      const SampledBatches alone(problem_of(data, servers, ranks, settings));
      std::int64_t fetched = 0, fetched_alone = 0;
      for (int server = 0; server < servers; ++server) {
        std::set<Vertex> want, got;
        std::int64_t seeds_wanted = 0, seeds_got = 0;
        for (int rank = server * ranks; rank < (server + 1) * ranks; ++rank) {
          const SampledBatch own = alone.batch(rank, 1, 0);
          want.insert(own.vertices->begin(), own.vertices->end());
          seeds_wanted += own.rows.back();
          fetched_alone += own.features.foreign;
          const CooperativeShare share = cooperative_share(batches, p.model, rank, 1, 0);
          for (const Vertex v : *share.own.vertices) {
            EXPECT_TRUE(got.insert(v).second) << "on two ranks";
            const int owner = p.partition.owner[at(v)];
            EXPECT_TRUE(owner == rank || owner / ranks != server) << "not with its owner";
          }
          seeds_got += share.own.rows.back();
          fetched += share.own.features.foreign;
        }
        EXPECT_EQ(got, want);
        EXPECT_EQ(seeds_got, seeds_wanted);
      }
      EXPECT_LT(fetched, fetched_alone);
      if (servers == 1) {
        EXPECT_EQ(fetched, 0);
      }
    }
}

TEST(CooperativeBatches, DoWhatTheirRecordingSays) {
  const auto data = random_dataset(120, 900, 12, 4, true);
  for (const ModelType type : {ModelType::sage, ModelType::gat})
    for (const bool learns : {false, true}) {
      MiniBatchSettings settings = together(15, {4, 3});
      settings.seeds = SeedsFrom::own;
      Problem p = problem_of(data, 2, 2, settings);
      if (learns) p.strategy.learned.emplace();
      p.model.type = type;
      testing::expect_as_recorded(p);
    }
}

TEST(CooperativeBatches, TakeNoMoreMemoryThanTheirBound) {
  const auto data = random_dataset(120, 900, 12, 4, false);
  struct Case {
    ModelType type;
    BatchSampler sampler;
    SeedsFrom seeds;
    bool replace, learns;
    int eval_every;
  };
  for (const Case& c :
       {Case{ModelType::gcn, BatchSampler::neighbour, SeedsFrom::all, false, false, 0},
        Case{ModelType::sage, BatchSampler::neighbour, SeedsFrom::own, true, false, 1},
        Case{ModelType::sage, BatchSampler::labor, SeedsFrom::all, false, true, 0},
        Case{ModelType::gat, BatchSampler::neighbour, SeedsFrom::own, false, false, 0},
        Case{ModelType::gat, BatchSampler::all, SeedsFrom::own, false, true, 5},
        Case{ModelType::resgcn, BatchSampler::all, SeedsFrom::all, false, false, 0}})
    for (const auto& [servers, ranks] : kWorlds) {
      SCOPED_TRACE(fmt::format("{}, {} x {}", c.type.name, servers, ranks));
      MiniBatchSettings settings = together(15, {4, 3});
      settings.sampler = c.sampler;
      settings.seeds = c.seeds;
      settings.replace = c.replace;
      if (c.sampler == BatchSampler::all) settings.fanouts.clear();
      Problem p = problem_of(data, servers, ranks, settings);
      if (c.learns) p.strategy.learned.emplace();
      p.model.type = c.type;
      p.train.epochs = 6;
      p.train.eval_every = c.eval_every;
      testing::expect_within_bound(p, 4);
    }
}

/// With all vertices as seeds and all their neighbours a rank has all that it may have.
TEST(CooperativeBatches, TakeHalfOfTheirBoundWhereTheyAreAsLargeAsTheyCanBe) {
  const auto data = testing::all_trained(random_dataset(120, 1500, 12, 4, true));
  for (const ModelType type : {ModelType::gcn, ModelType::sage, ModelType::gat})
    for (const bool learns : {false, true})
      for (const auto& [servers, ranks] : kWorlds) {
        SCOPED_TRACE(fmt::format("{}, {} x {}", type.name, servers, ranks));
        Problem p = problem_of(data, servers, ranks, together(1 << 20, {-1, -1}));
        if (learns) p.strategy.learned.emplace();
        p.model.type = type;
        p.train.eval_every = 0;
        testing::expect_within_bound(p, 2);
      }
}

/// One rank of a server may get all of a small batch, but never more than it owns.
TEST(CooperativeBatches, AShareIsBoundedByTheBatchAndByWhatARankOwns) {
  const Problem few = problem_of(random_dataset(900, 5000, 12, 4, true), 1, 3, together(6, {2, 2}));
  const SampledBatches small(few);
  const auto rows = small.bounds().vertices;
  EXPECT_EQ(rows, (std::vector<std::int64_t>{6 * 9, 6 * 3, 6}));
  for (const SampledBatches::Bounds& share : small.share_bounds()) EXPECT_EQ(share.vertices, rows);

  const Problem many =
      problem_of(random_dataset(90, 900, 12, 4, true), 1, 3, together(90, {-1, -1}));
  const SampledBatches large(many);
  const auto shares = large.share_bounds();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(shares[at(rank)].vertices.front(), std::ssize(*large.owned(rank)));
    EXPECT_LT(shares[at(rank)].edges.front(), large.bounds().edges.front());
  }
}

TEST(CooperativeBatches, KeepNoRowsInACache) {
  const Problem p = problem_of(random_dataset(30, 90, 6, 3, true), 1, 2, together(10, {2, 2}));
  EXPECT_NO_THROW(require_possible(p.strategy, p.model));
  MiniBatchSettings cached = together(10, {2, 2});
  cached.cache.bytes = 1000;
  EXPECT_THROW(require_possible(strategy_of(cached, 2), p.model), ConfigError);
}

}  // namespace
}  // namespace orrery
