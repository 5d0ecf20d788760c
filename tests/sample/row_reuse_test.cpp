// The forecast for caches from a record of requests, against caches that answer them.
#include "core/sample/cache/row_reuse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/sample/cache/row_cache.hpp"

namespace orrery {
namespace {

std::vector<Vertex> requests(std::int64_t vertices, int count, std::uint64_t seed) {
  Sequence random(seed, Purpose::edges, 0);
  std::vector<Vertex> made;
  for (int i = 0; i < count; ++i) {
    // Popular rows and a neighbourhood that moves on, so that policies differ.
    const auto v = random.below(static_cast<std::uint64_t>(vertices));
    made.push_back(static_cast<Vertex>(i % 3 == 0   ? v
                                       : i % 3 == 1 ? v * v / static_cast<std::uint64_t>(vertices)
                                                    : (static_cast<std::uint64_t>(i / 5) + v % 3) %
                                                          static_cast<std::uint64_t>(vertices)));
  }
  return made;
}

std::int64_t of(const std::vector<std::int64_t>& hits, std::int64_t rows) {
  return hits[std::min(at(rows), hits.size() - 1)];
}

/// The most hits that are possible, found by trying everything: the rows that the cache begins
/// with, and after each request whether its row is kept, and in the place of which other.
std::int64_t hits_of_all_choices(const std::vector<Vertex>& asked, int vertices, int rows) {
  std::map<unsigned, std::int64_t> best;  // by the set of rows that are kept
  for (unsigned set = 0; set < 1U << vertices; ++set)
    if (std::popcount(set) <= rows) best[set] = 0;
  for (const Vertex v : asked) {
    std::map<unsigned, std::int64_t> after;
    const unsigned row = 1U << v;
    for (const auto& [set, hits] : best) {
      const std::int64_t now = hits + ((set & row) != 0 ? 1 : 0);
      for (unsigned kept = set | row;; kept = (kept - 1) & (set | row)) {
        if (std::popcount(kept) <= rows) after[kept] = std::max(after[kept], now);
        if (kept == 0) break;
      }
    }
    best = std::move(after);
  }
  std::int64_t most = 0;
  for (const auto& [set, hits] : best) most = std::max(most, hits);
  return most;
}

TEST(RowReuse, OfTheLastRowsIsWhatSuchACacheAnswers) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const std::int64_t vertices = 40;
    const auto asked = requests(vertices, 600, seed);
    const auto hits = lru_hits(asked, vertices);
    for (std::int64_t rows = 1; rows <= vertices + 2; ++rows) {
      RowCache cache = RowCache::lru(vertices, rows);
      for (const Vertex v : asked) cache.ask(std::vector<Vertex>{v});
      EXPECT_EQ(of(hits, rows), cache.hits()) << rows << " rows, seed " << seed;
    }
    EXPECT_EQ(hits[0], 0);
  }
}

TEST(RowReuse, OfFixedRowsIsWhatSuchACacheAnswers) {
  const std::int64_t vertices = 30;
  const auto asked = requests(vertices, 300, 4);
  const std::vector<Vertex> kept{7, 0, 29, 3, 12};
  const auto hits = fixed_hits(asked, vertices, kept);
  ASSERT_EQ(hits.size(), kept.size() + 1);
  for (std::size_t rows = 0; rows <= kept.size(); ++rows) {
    RowCache cache = RowCache::fixed(vertices, std::span(kept).first(rows));
    for (const Vertex v : asked) cache.ask(std::vector<Vertex>{v});
    EXPECT_EQ(hits[rows], cache.hits()) << rows;
  }
}

TEST(RowReuse, TheMostIsThatOfAllChoices) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const int vertices = 5 + static_cast<int>(seed % 2);
    const auto asked = requests(vertices, 24, seed);
    for (int rows = 0; rows <= vertices; ++rows)
      EXPECT_EQ(most_hits(asked, vertices, rows), hits_of_all_choices(asked, vertices, rows))
          << rows << " rows, seed " << seed;
  }
}

TEST(RowReuse, NoPolicyExceedsTheMost) {
  const std::int64_t vertices = 50;
  const auto asked = requests(vertices, 2000, 9);
  std::vector<Vertex> popular(at(vertices));
  for (std::size_t v = 0; v < popular.size(); ++v) popular[v] = static_cast<Vertex>(v);
  const auto lru = lru_hits(asked, vertices), fixed = fixed_hits(asked, vertices, popular);
  std::int64_t before = 0;
  for (std::int64_t rows = 0; rows <= vertices; ++rows) {
    const std::int64_t most = most_hits(asked, vertices, rows);
    EXPECT_GE(most, of(lru, rows));
    EXPECT_GE(most, of(fixed, rows));
    EXPECT_GE(most, before);
    before = most;
  }
  EXPECT_EQ(before, 2000);
}

TEST(RowReuse, OfNothing) {
  EXPECT_EQ(lru_hits({}, 3), std::vector<std::int64_t>{0});
  EXPECT_EQ(fixed_hits({}, 3, {}), std::vector<std::int64_t>{0});
  EXPECT_EQ(most_hits({}, 3, 2), 0);
}

}  // namespace
}  // namespace orrery
