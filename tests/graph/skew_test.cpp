#include "core/graph/skew.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

Csr rows_of(const std::vector<std::int64_t>& lengths) {
  Csr a;
  a.rows = static_cast<std::int64_t>(lengths.size());
  a.cols = 10;
  for (const std::int64_t length : lengths) {
    for (Vertex c = 0; c < length; ++c) a.columns.push_back(c);
    a.offsets.push_back(a.nnz());
  }
  return a;
}

TEST(RowSkew, IsTheLargestRowOverTheMeanOne) {
  EXPECT_FLOAT_EQ(row_skew(rows_of({2, 2, 2})), 1);
  EXPECT_FLOAT_EQ(row_skew(rows_of({1, 0, 5, 2})), 5 / 2.0F);
}

TEST(RowSkew, IsOneWithoutEntries) {
  EXPECT_EQ(row_skew(Csr{}), 1);
  EXPECT_EQ(row_skew(rows_of({0, 0})), 1);
}

}  // namespace
}  // namespace orrery
