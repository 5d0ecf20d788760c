// The choices that rows share, in every build of their loops, against the plainest way to make them.
#include "core/sample/variates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/base/index.hpp"
#include "core/sample/row_picks.hpp"

namespace orrery {
namespace {

std::uint32_t word(std::mt19937& random) { return static_cast<std::uint32_t>(random()); }

/// Different vertices in no order.
std::vector<Vertex> some_vertices(std::size_t count, std::mt19937& random) {
  std::set<Vertex> drawn;
  while (drawn.size() < count) drawn.insert(static_cast<Vertex>(random() >> 2U));
  std::vector<Vertex> vertices(drawn.begin(), drawn.end());
  std::shuffle(vertices.begin(), vertices.end(), random);
  return vertices;
}

TEST(Variates, BelowABoundAreTheSameInEveryBuild) {
  std::mt19937 random(1);
  for (std::size_t count = 0; count < 70; ++count) {
    const std::vector<Vertex> vertices = some_vertices(count, random);
    for (const std::uint32_t bound : {0U, 1U << 28U, 1U << 31U, 0xFFFFFFFFU}) {
      const Variates variates{word(random), word(random)};
      std::vector<std::uint64_t> want;
      for (std::size_t i = 0; i < count; ++i)
        if (const std::uint32_t x = variates.of(vertices[i]); x <= bound)
          want.push_back(std::uint64_t{x} << 32U | i);
      for (const VariateLoops& build : variate_loops()) {
        std::vector<std::uint64_t> found(count + Variates::kSlack);
        found.resize(build.below(variates, bound, vertices.data(),
                                 static_cast<std::uint32_t>(count), found.data()));
        EXPECT_EQ(found, want) << build.instructions << ", " << count << " vertices";
      }
    }
  }
}

TEST(Variates, PlacesAreThoseOfSortingInEveryBuild) {
  std::mt19937 random(2);
  for (std::uint32_t many = 1; many <= 64; ++many) {
    std::vector<std::uint64_t> entries;
    for (const Vertex v : some_vertices(many, random))
      entries.push_back(std::uint64_t{random()} << 32U | static_cast<std::uint32_t>(v));
    std::vector<std::uint64_t> sorted = entries;
    std::sort(sorted.begin(), sorted.end());
    entries.resize(many + Variates::kSlack);
    for (const VariateLoops& build : variate_loops()) {
      std::vector<std::uint64_t> places(many + Variates::kSlack);
      build.places_of(entries.data(), many, places.data());
      for (std::uint32_t i = 0; i < many; ++i)
        EXPECT_EQ(sorted[at(places[i])], entries[i]) << build.instructions << ", " << many;
    }
  }
}

TEST(RowPicks, TakeTheLowestVariatesOfTheWholeRow) {
  std::mt19937 random(3);
  RowPicks picks;
  for (const std::uint32_t length : {1U, 2U, 15U, 16U, 17U, 100U, 1000U, 20000U})
    for (const std::uint32_t count : {1U, 2U, 15U, 40U, 64U, 65U, 900U}) {
      if (count > length) continue;
      const std::vector<Vertex> row = some_vertices(length, random);
      const Variates variates{word(random), word(random)};
      std::vector<std::pair<std::uint32_t, EdgeIndex>> all;
      for (std::uint32_t i = 0; i < length; ++i) all.emplace_back(variates.of(row[i]), 500 + i);
      std::sort(all.begin(), all.end());
      RowPicks::Positions positions{7};

      picks.lowest(variates, row.data(), 500, length, count, positions);

      ASSERT_EQ(positions.size(), count + 1);
      for (std::uint32_t i = 0; i < count; ++i)
        EXPECT_EQ(positions[i + 1], all[i].second) << count << " of " << length;
    }
}

}  // namespace
}  // namespace orrery
