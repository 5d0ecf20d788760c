// Rows sorted block by block are those that sorting all edges at once gives.
#include "core/inference/input/rows_of_edges.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// Edges with duplicates; of `hub` in a hundred the row is the last one.
std::vector<Vertex> drawn_pairs(std::int64_t edges, std::int64_t rows, std::int64_t columns,
                                int hub) {
  Sequence draws(3, Purpose::edges, 0);
  std::vector<Vertex> pairs;
  for (std::int64_t i = 0; i < edges; ++i) {
    const bool of_hub = static_cast<int>(draws.below(100)) < hub;
    const auto row = static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(rows)));
    pairs.push_back(static_cast<Vertex>(of_hub ? rows - 1 : row));
    pairs.push_back(static_cast<Vertex>(draws.below(static_cast<std::uint64_t>(columns))));
  }
  return pairs;
}

TEST(SortedRows, AreThoseOfOneSortWhateverTheBlocks) {
  struct Case {
    std::int64_t edges, rows, columns;
    int hub;
  };
  // One block and many; rows that do not fill the last one; a row of more edges than a block is for.
  for (const Case& c : {Case{0, 0, 5, 0}, Case{0, 7, 1, 0}, Case{500, 1, 1, 0}, Case{500, 9, 40, 0},
                        Case{80'000, 3001, 70'000, 0}, Case{80'000, 100'000, 100'000, 50},
                        Case{70'000, 3, 1 << 20, 90}}) {
    auto pairs = drawn_pairs(c.edges, c.rows, c.columns, c.hub);
    std::set<std::pair<Vertex, Vertex>> all;
    for (std::size_t i = 0; i < pairs.size(); i += 2) all.insert({pairs[i], pairs[i + 1]});

    const Csr made = sorted_rows(std::move(pairs), c.rows, c.columns);

    ASSERT_EQ(std::ssize(made.offsets), c.rows + 1);
    ASSERT_EQ(std::ssize(made.columns), std::ssize(all));
    auto expected = all.begin();
    for (std::int64_t r = 0; r < c.rows; ++r)
      for (const Vertex column : made.row(r)) {
        ASSERT_EQ(*expected, std::pair(static_cast<Vertex>(r), column));
        ++expected;
      }
    EXPECT_EQ(expected, all.end());
  }
}

}  // namespace
}  // namespace orrery
