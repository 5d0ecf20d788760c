// The forecast for caches from a record of batches, against training with such a cache.
#include "core/strategy/store/cache_study.hpp"

#include <gtest/gtest.h>

#include "core/base/index.hpp"
#include "core/strategy/store/recent_rows.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::make_problem;
using testing::random_dataset;

constexpr int kStudiedRanks = 3, kStudiedEpochs = 2;

Problem problem_of(MiniBatchSettings settings) {
  settings.batch = 20;
  StrategyConfig config;
  config.type = "mini_batch";
  config.own = std::move(settings);
  return make_problem(random_dataset(150, 900, 12, 4, true), kStudiedRanks, config);
}

CacheStudy study_of(const Problem& problem, const std::vector<std::int64_t>& rows) {
  const SampledBatches batches(problem);
  return study_caches(batches, kStudiedRanks, rows,
                      [&](int rank) { return accesses_of(batches, rank, kStudiedEpochs); });
}

/// Rows of others in all batches, and those of them that the strategy's own cache has.
std::pair<std::int64_t, std::int64_t> counted(const Problem& problem) {
  const SampledBatches batches(problem);
  std::int64_t foreign = 0, kept = 0;
  for (int rank = 0; rank < kStudiedRanks; ++rank) {
    std::optional<RecentRows> recent;
    if (auto cache = batches.recent(rank))
      recent.emplace(rank, std::move(*cache), batches.owners());
    for (int epoch = 0; epoch < kStudiedEpochs; ++epoch)
      for (int step = 0; step < batches.steps(); ++step) {
        const SampledBatch batch = batches.batch(rank, epoch, step);
        const WantedRows rows = recent ? recent->want(*batch.vertices) : batch.features;
        foreign += rows.foreign;
        kept += rows.kept;
      }
  }
  return {foreign, kept};
}

TEST(CacheStudy, HasTheHitsOfEveryPolicyAndSize) {
  MiniBatchSettings settings;
  settings.fanouts = {4, 3};
  const std::vector<std::int64_t> rows{1, 7, 30, 75, 200};
  const CacheStudy study = study_of(problem_of(settings), rows);
  ASSERT_EQ(study.policies.size(), 5U);
  for (std::size_t p = 0; p < study.policies.size(); ++p)
    for (std::size_t s = 0; s < rows.size(); ++s) {
      const auto& [name, policy] = *(kCachePolicies.begin() + p);
      settings.cache = {policy, rows[s] * 12 * 4};
      const auto [foreign, kept] = counted(problem_of(settings));
      EXPECT_EQ(study.policies[p].name, name);
      EXPECT_EQ(study.policies[p].hits[s], kept) << name << ", " << rows[s] << " rows";
      EXPECT_EQ(study.requests, foreign);
      EXPECT_LE(study.policies[p].hits[s], study.most[s]) << name << ", " << rows[s] << " rows";
    }
  EXPECT_GT(study.policies.front().hits.back(), study.policies.front().hits.front());
  EXPECT_EQ(study.most.back(), study.requests) << "where there is room for all";
}

/// Clusters have no seeds, so how likely a vertex is drawn by them is not asked.
TEST(CacheStudy, OfClustersHasNoChances) {
  MiniBatchSettings settings;
  settings.sampler = BatchSampler::cluster;
  settings.clusters = 12;
  settings.together = 2;
  const CacheStudy study = study_of(problem_of(settings), {20});
  ASSERT_EQ(study.policies.size(), 4U);
  for (const auto& policy : study.policies) EXPECT_NE(policy.name, "vip");
  EXPECT_GT(study.requests, 0);
}

}  // namespace
}  // namespace orrery
