#include "core/graph/reuse.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// Rows of one entry each, in the given order: the gap between two uses is what the list shows.
Csr one_per_row(std::vector<Vertex> columns, std::int64_t cols) {
  Csr a{static_cast<std::int64_t>(columns.size()), cols, {0}, std::move(columns)};
  for (std::int64_t r = 1; r <= a.rows; ++r) a.offsets.push_back(r);
  return a;
}

Csr random_columns(std::int64_t edges, std::int64_t cols) {
  Sequence draw(7, Purpose::features, 0);
  std::vector<Vertex> columns;
  for (std::int64_t e = 0; e < edges; ++e)
    columns.push_back(static_cast<Vertex>(draw.below(static_cast<std::uint64_t>(cols))));
  return one_per_row(std::move(columns), cols);
}

// A little below where a column is used a few times only: of its long gaps fewer come to an end.
TEST(ColumnReuse, IsAboutOneForRandomColumns) {
  EXPECT_NEAR(column_reuse(random_columns(200000, 1000)), 1, 0.02) << "200 uses of a column";
  EXPECT_NEAR(column_reuse(random_columns(20000, 1000)), 1, 0.1) << "20 uses";
  EXPECT_NEAR(column_reuse(random_columns(4000, 1000)), 1, 0.3) << "4 uses";
  EXPECT_NEAR(column_reuse(random_columns(1000, 100000)), 1, 0.02) << "nearly all are first uses";
}

TEST(ColumnReuse, OfALargePatternIsThatOfASampleOfItsColumns) {
  EXPECT_NEAR(column_reuse(random_columns(3'000'000, 50000)), 1, 0.03);
}

TEST(ColumnReuse, IsTheGeometricMeanOfTheGaps) {
  // Three first uses; gaps 1 (0 again), 4 (1 again), 3 (0 again).
  const Csr a = one_per_row({1, 0, 0, 2, 1, 0}, 3);

  const double euler = 0.5772156649, first = std::log(3) - euler;
  const double gaps = 3 * first + std::log(1) + std::log(4) + std::log(3);
  EXPECT_NEAR(column_reuse(a), std::min(1.0, std::exp(gaps / 6 + euler) / 3), 1e-9);
  EXPECT_NEAR(column_reuse(one_per_row({0, 0, 0, 0, 0, 0, 0, 0}, 100)),
              std::exp((std::log(100) - euler) / 8 + euler) / 100, 1e-9);
}

TEST(ColumnReuse, IsSmallWhereNeighbouringRowsRepeatColumns) {
  Csr band{10000, 10009, {0}, {}};  // row r uses columns r to r + 9
  for (Vertex r = 0; r < 10000; ++r) {
    for (Vertex c = r; c < r + 10; ++c) band.columns.push_back(c);
    band.offsets.push_back(static_cast<EdgeIndex>(band.columns.size()));
  }

  EXPECT_LT(column_reuse(band), 0.01);
}

TEST(ColumnReuse, DoesNotDependOnTheNamesOfColumns) {
  const Csr a = random_columns(20000, 1000);
  Csr named = a;
  for (Vertex& column : named.columns) column = 2'000'000'000 - 7 * column;

  EXPECT_DOUBLE_EQ(column_reuse(named), column_reuse(a));
}

TEST(ColumnReuse, OfNothingIsOne) {
  EXPECT_EQ(column_reuse(Csr{}), 1);
  EXPECT_EQ(column_reuse(Csr{3, 5, {0, 0, 0, 0}, {}}), 1);
}

}  // namespace
}  // namespace orrery
