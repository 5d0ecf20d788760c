#include "core/graph/csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

EdgeList random_edges(std::int64_t vertices, std::int64_t edges, std::uint64_t seed) {
  EdgeList list{vertices, {}, {}};
  Sequence random(seed, Purpose::edges, 0);
  for (std::int64_t i = 0; i < edges; ++i) {
    const auto n = static_cast<std::uint64_t>(vertices);
    list.source.push_back(static_cast<Vertex>(random.below(n)));
    list.destination.push_back(static_cast<Vertex>(std::min(random.below(n), random.below(n))));
  }
  return list;
}

using Pairs = std::set<std::pair<Vertex, Vertex>>;  // (row, column)

Pairs pairs_of(const Csr& csr) {
  Pairs pairs;
  for (std::int64_t v = 0; v < csr.rows; ++v)
    for (const Vertex u : csr.row(v)) pairs.emplace(static_cast<Vertex>(v), u);
  return pairs;
}

Pairs pairs_of(const EdgeList& edges) {
  Pairs pairs;
  for (std::size_t i = 0; i < edges.source.size(); ++i)
    pairs.emplace(edges.destination[i], edges.source[i]);
  return pairs;
}

// 0 -> 1, 2 -> 1 (twice), 1 -> 1, 0 -> 2, vertex 3 alone: row 1 lists 0, 1, 2 and row 2 lists 0.
TEST(CsrTest, RowsListInNeighboursSortedAndDistinct) {
  const EdgeList edges{4, {2, 0, 2, 1, 0}, {1, 1, 1, 1, 2}};

  const Csr csr = build_csr(edges);

  EXPECT_EQ(csr.offsets, (std::vector<EdgeIndex>{0, 0, 3, 4, 4}));
  EXPECT_EQ(csr.columns, (std::vector<Vertex>{0, 1, 2, 0}));
}

TEST(CsrTest, NoVerticesAndNoEdgesAreFine) {
  const Csr none = build_csr(EdgeList{});
  const Csr empty = build_csr(EdgeList{3, {}, {}});

  EXPECT_EQ(none.rows, 0);
  EXPECT_EQ(none.nnz(), 0);
  EXPECT_EQ(empty.offsets, (std::vector<EdgeIndex>{0, 0, 0, 0}));
  EXPECT_EQ(transpose(empty), empty);
  EXPECT_EQ(symmetrise(empty), empty);
}

class CsrSizesTest : public ::testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(CsrSizesTest, EqualsSetOfEdges) {
  const auto [vertices, count] = GetParam();
  const EdgeList edges = random_edges(vertices, count, 1);

  const Csr csr = build_csr(edges);

  EXPECT_EQ(pairs_of(csr), pairs_of(edges));
  EXPECT_EQ(csr.nnz(), std::ssize(pairs_of(edges)));
  EXPECT_EQ(csr.offsets.back(), csr.nnz());
  for (std::int64_t v = 0; v < vertices; ++v) EXPECT_TRUE(std::ranges::is_sorted(csr.row(v)));
}

TEST_P(CsrSizesTest, TransposeTwiceIsIdentity) {
  const auto [vertices, count] = GetParam();
  const Csr csr = build_csr(random_edges(vertices, count, 2));

  const Csr once = transpose(csr);

  EXPECT_EQ(transpose(once), csr);
  for (const auto& [row, column] : pairs_of(csr))
    ASSERT_TRUE(std::ranges::binary_search(once.row(column), row));
}

TEST_P(CsrSizesTest, SymmetriseIsUnionWithTranspose) {
  const auto [vertices, count] = GetParam();
  const Csr csr = build_csr(random_edges(vertices, count, 3));
  Pairs expected = pairs_of(csr);
  for (const auto& [row, column] : pairs_of(csr)) expected.emplace(column, row);

  const Csr both = symmetrise(csr);

  EXPECT_EQ(pairs_of(both), expected);
  EXPECT_TRUE(is_symmetric(both));
  EXPECT_EQ(is_symmetric(csr), pairs_of(csr) == expected);
  EXPECT_EQ(symmetrise(both), both);
}

TEST_P(CsrSizesTest, SameForAnyNumberOfThreadsAndOrderOfEdges) {
  const auto [vertices, count] = GetParam();
  EdgeList edges = random_edges(vertices, count, 4);
  const Csr serial = build_csr(edges);
  std::ranges::reverse(edges.source);
  std::ranges::reverse(edges.destination);

  for (const int threads : {1, 2, 3, 5}) {
    const ThreadPool pool(threads);
    EXPECT_EQ(build_csr(edges), serial) << threads << " threads";
    EXPECT_EQ(transpose(transpose(serial)), serial) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CsrSizesTest,
                         ::testing::Values(std::pair{1, 5}, std::pair{7, 40}, std::pair{1000, 3000},
                                           std::pair{3, 50000}, std::pair{5000, 600000}));

TEST(CsrTest, TransposeOfRectangleSwapsSides) {
  Csr csr;  // rows {0: 3, 1: 0 4}
  csr.rows = 2;
  csr.cols = 5;
  csr.offsets = {0, 1, 3};
  csr.columns = {3, 0, 4};

  const Csr flipped = transpose(csr);

  EXPECT_EQ(flipped.rows, 5);
  EXPECT_EQ(flipped.cols, 2);
  EXPECT_EQ(flipped.offsets, (std::vector<EdgeIndex>{0, 1, 1, 1, 2, 3}));
  EXPECT_EQ(flipped.columns, (std::vector<Vertex>{1, 0, 1}));
}

TEST(CsrDeathTest, IdOutOfRangeIsImpossibleState) {
  EXPECT_DEATH(build_csr(EdgeList{2, {0}, {2}}), "impossible state");
  EXPECT_DEATH(build_csr(EdgeList{2, {-1}, {0}}), "impossible state");
}

}  // namespace
}  // namespace orrery
