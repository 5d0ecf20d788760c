// Rows times feature columns: who holds what.
#include "core/inference/layout/tile_layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace {

TEST(TileLayout, GivesTheFirstSharesOneMore) {
  std::vector<std::int64_t> counts;
  for (int k = 0; k < 4; ++k) counts.push_back(share_of(7, 4, k).count);

  EXPECT_EQ(counts, (std::vector<std::int64_t>{2, 2, 2, 1}));
}

TEST(TileLayout, SharesCoverEverythingOnce) {
  for (const std::int64_t total : {0, 1, 3, 7, 100})
    for (const int parts : {1, 2, 4, 9}) {
      std::int64_t next = 0;
      for (int k = 0; k < parts; ++k) {
        EXPECT_EQ(share_of(total, parts, k).first, next);
        next = share_of(total, parts, k).end();
      }
      EXPECT_EQ(next, total);
    }
}

TEST(TileLayout, FindsThePartOfAVertex) {
  for (const int parts : {1, 3, 4, 10}) {
    const TileLayout layout{10, parts, 1};
    for (std::int64_t v = 0; v < 10; ++v)
      EXPECT_TRUE(layout.rows(layout.part_of_vertex(v)).contains(v)) << v << " of " << parts;
  }
}

/// Figure 6: machines 0 and 1 hold vertices 0 to 3, machines 2 and 3 the others, two columns each.
TEST(TileLayout, IsThatOfDealsFigure6) {
  const TileLayout layout{8, 2, 2};

  EXPECT_EQ(layout.rows(layout.part_of(1)), (Share{0, 4}));
  EXPECT_EQ(layout.rows(layout.part_of(2)), (Share{4, 4}));
  EXPECT_EQ(layout.columns(4, layout.column_of(2)), (Share{0, 2}));
  EXPECT_EQ(layout.columns(4, layout.column_of(3)), (Share{2, 2}));
  EXPECT_EQ(layout.row_group(3), (Group{1, 2, 2, 1}));
  EXPECT_EQ(layout.column_group(3), (Group{2, 1, 2, 2}));
}

}  // namespace
}  // namespace orrery
