// Caches of rows against the plainest way to write each policy, with memory that is really copied.
#include "core/sample/cache/row_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/base/index.hpp"
#include "tests/support/recently_used.hpp"

namespace orrery {
namespace {

using Batches = std::vector<std::vector<Vertex>>;
constexpr Vertex kVertices = 60;

/// Batches of distinct rows, low numbers more often.
Batches batches(std::uint64_t seed, int count = 200, int most = 25) {
  std::mt19937_64 random(seed);
  Batches result(at(count));
  for (auto& rows : result) {
    std::set<Vertex> drawn;
    const auto n = random() % at(most + 1);
    while (drawn.size() < n) {
      const double x = static_cast<double>(random() >> 11U) * 0x1.0p-53;
      drawn.insert(static_cast<Vertex>(x * x * kVertices));
    }
    rows.assign(drawn.begin(), drawn.end());
    std::shuffle(rows.begin(), rows.end(), random);
  }
  return result;
}

/// Uses the cache as its owner does, with a row's number as its content; counts what was fetched.
class Memory {
 public:
  explicit Memory(RowCache& cache) : cache_(cache), content_(at(cache.slots()), -1) {}
  void put(std::span<const Vertex> rows) { std::copy(rows.begin(), rows.end(), content_.begin()); }
  std::int64_t fetch(const std::vector<Vertex>& rows) {
    const RowCache::Answer answer = cache_.ask(rows);
    std::int64_t fetched = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (answer.from[i] != RowCache::kNone) {
        EXPECT_EQ(content_[at(answer.from[i])], rows[i]);
        EXPECT_EQ(answer.into[i], RowCache::kNone);
      }
    std::set<std::int32_t> filled;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (answer.from[i] == RowCache::kNone) ++fetched;
      if (answer.into[i] == RowCache::kNone) continue;
      EXPECT_TRUE(filled.insert(answer.into[i]).second) << "two rows in one slot";
      content_[at(answer.into[i])] = rows[i];
    }
    return fetched;
  }

 private:
  RowCache& cache_;
  std::vector<Vertex> content_;
};

std::int64_t misses_of(const Batches& all, bool lru, std::int64_t slots) {
  testing::RecentlyUsed kept(lru, at(slots));
  std::int64_t misses = 0;
  for (const auto& rows : all)
    for (const Vertex v : rows) misses += kept.ask(v) ? 0 : 1;
  return misses;
}

TEST(RowCache, HoldsWhatItSaysAndMissesWhatEachPolicyMisses) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const std::int64_t slots : {0, 1, 2, 7, 20, 59, 60}) {
      const Batches all = batches(seed);
      std::int64_t asked = 0;
      for (const auto& rows : all) asked += std::ssize(rows);
      for (const bool lru : {true, false}) {
        RowCache cache = lru ? RowCache::lru(kVertices, slots) : RowCache::clock(kVertices, slots);
        Memory memory(cache);
        std::int64_t fetched = 0;
        for (const auto& rows : all) fetched += memory.fetch(rows);

        EXPECT_EQ(fetched, misses_of(all, lru, slots)) << slots << (lru ? " lru" : " clock");
        EXPECT_EQ(cache.asked(), asked);
        EXPECT_EQ(cache.hits(), asked - fetched);
      }
    }
}

TEST(RowCache, OfFixedRowsHasTheseForEver) {
  const std::vector<Vertex> rows{5, 50, 0, 7};
  RowCache cache = RowCache::fixed(kVertices, rows);
  Memory memory(cache);
  memory.put(rows);
  for (const auto& batch : batches(4)) {
    std::int64_t absent = 0;
    for (const Vertex v : batch)
      if (std::find(rows.begin(), rows.end(), v) == rows.end()) ++absent;
    EXPECT_EQ(memory.fetch(batch), absent);
  }
}

TEST(RowCache, ABatchThatIsLargerThanTheCacheLeavesItsLastRows) {
  RowCache cache = RowCache::lru(kVertices, 3);
  Memory memory(cache);
  EXPECT_EQ(memory.fetch({1, 2, 3, 4, 5, 6, 7}), 7);
  EXPECT_EQ(memory.fetch({7, 6, 5}), 0);
  EXPECT_EQ(memory.fetch({4}), 1);
}

}  // namespace
}  // namespace orrery
