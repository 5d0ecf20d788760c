// Rows that are dealt and sorted block by block are those that sorting all edges at once gives.
#include "core/inference/input/rows_of_edges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
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

/// The rows of pairs that are added in pieces, by this many threads.
Csr rows_of_pieces(const std::vector<Vertex>& pairs, std::int64_t rows, std::int64_t columns,
                   std::size_t piece, int threads) {
  const ThreadPool pool(threads);
  RowsOfEdges built(rows, columns);
  for (std::size_t i = 0; i < pairs.size(); i += 2 * piece)
    built.add(std::span(pairs).subspan(i, std::min(2 * piece, pairs.size() - i)));
  Csr made = built.take();
  EXPECT_EQ(built.bytes(), 0);
  return made;
}

TEST(RowsOfEdges, AreThoseOfOneSortWhateverTheBlocksPiecesAndThreads) {
  struct Case {
    std::int64_t edges, rows, columns;
    int hub;
  };
  // One block and many; rows that do not fill the last one; a block of more edges than are sorted
  // at once, of short rows, of rows that are long, and of a row that has nearly all.
  for (const Case& c : {Case{0, 0, 5, 0}, Case{0, 7, 1, 0}, Case{500, 1, 1, 0}, Case{500, 9, 40, 0},
                        Case{80'000, 3001, 70'000, 0}, Case{80'000, 100'000, 100'000, 50},
                        Case{70'000, 3, 1 << 20, 90}, Case{200'000, 64, 5'000, 0},
                        Case{200'000, 60, 1 << 30, 99}, Case{400'000, 70'000, 2'000'000'000, 80}}) {
    const auto pairs = drawn_pairs(c.edges, c.rows, c.columns, c.hub);
    std::vector<std::pair<Vertex, Vertex>> all;
    for (std::size_t i = 0; i < pairs.size(); i += 2) all.emplace_back(pairs[i], pairs[i + 1]);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());

    const Csr made = rows_of_pieces(pairs, c.rows, c.columns, pairs.size() + 1, 1);

    ASSERT_EQ(std::ssize(made.offsets), c.rows + 1);
    ASSERT_EQ(std::ssize(made.columns), std::ssize(all));
    auto expected = all.begin();
    for (std::int64_t r = 0; r < c.rows; ++r)
      for (const Vertex column : made.row(r)) {
        ASSERT_EQ(*expected, std::pair(static_cast<Vertex>(r), column));
        ++expected;
      }
    EXPECT_EQ(expected, all.end());
    EXPECT_EQ(rows_of_pieces(pairs, c.rows, c.columns, 40'000, 3), made);
    EXPECT_EQ(rows_of_pieces(pairs, c.rows, c.columns, 701, 2), made);
  }
}

TEST(RowsOfEdges, HaveNoSelfLoopsAndTheReversesThatAreAskedFor) {
  const std::vector<Edge> edges{{2, 0}, {1, 1}, {0, 2}, {3, 0}, {3, 0}};
  RowsOfEdges plain(4, 4), mirrored(4, 4);

  plain.add(edges, false);
  mirrored.add(edges, true);

  EXPECT_EQ(plain.take(), (Csr{4, 4, {0, 2, 2, 3, 3}, {2, 3, 0}}));
  EXPECT_EQ(mirrored.take(), (Csr{4, 4, {0, 2, 2, 3, 4}, {2, 3, 0, 0}}));
}

/// Blocks of a hundred edges, one that has all, and one for each thread.
TEST(RowsOfEdges, HoldWhatTheySay) {
  constexpr std::int64_t kEdges = 1 << 21;
  for (const std::int64_t rows : {std::int64_t{1} << 20, std::int64_t{50}})
    for (const int threads : {1, 2}) {
      const ThreadPool pool(threads);
      const auto pairs = drawn_pairs(kEdges, rows, 1 << 30, 0);
      RowsOfEdges built(rows, 1 << 30);
      built.add(pairs);

      const Csr made = built.take();

      const std::int64_t of_result = 4 * made.nnz() + 8 * (rows + 1);
      EXPECT_GE(built.peak_bytes(), 8 * kEdges + of_result);
      EXPECT_LE(built.peak_bytes(),
                (rows == 50 ? 16 : 12) * kEdges + 8 * (rows + 1) + threads * (8 << 20));
    }
}

}  // namespace
}  // namespace orrery
