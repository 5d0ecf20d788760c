#include "experiments/run/thin_timelines.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

std::vector<Timeline> timelines(int ranks, std::size_t spans) {
  std::vector<Timeline> all;
  for (int r = 0; r < ranks; ++r) {
    all.emplace_back();
    all.back().rank = r;
    all.back().spans.resize(spans);
  }
  return all;
}

std::vector<int> ranks_of(const std::vector<Timeline>& all) {
  std::vector<int> ranks;
  for (const Timeline& t : all) ranks.push_back(t.rank);
  return ranks;
}

TEST(ThinnedTimelines, AreAllWhereThereIsRoom) {
  EXPECT_EQ(ranks_of(thinned(timelines(3, 10), 2, 30)), (std::vector<int>{0, 1, 2}));
}

TEST(ThinnedTimelines, AreTheFirstOnesAndTheSlowest) {
  EXPECT_EQ(ranks_of(thinned(timelines(8, 10), 6, 39)), (std::vector<int>{0, 1, 6}));
}

TEST(ThinnedTimelines, HoldTheSlowestHoweverLargeItIs) {
  EXPECT_EQ(ranks_of(thinned(timelines(3, 10), 1, 5)), (std::vector<int>{1}));
}

TEST(ThinnedTimelines, AreFewerOfManySimulatedRanksAlone) {
  EXPECT_EQ(most_in_timelines(1024, false), most_in_timelines(2, true));
  EXPECT_LT(most_in_timelines(65, true), most_in_timelines(64, true));
}

TEST(ThinnedTimelines, CountMarksOfMemoryToo) {
  auto all = timelines(2, 10);
  all[0].memory.resize(20);

  EXPECT_EQ(ranks_of(thinned(all, 1, 39)), (std::vector<int>{1}));
  EXPECT_EQ(ranks_of(thinned(all, 1, 40)), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace orrery
