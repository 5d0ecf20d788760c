// Ranks on servers.
#include "core/cluster/placement.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Placement, NumbersServersByTheirLowestRank) {
  const Placement p({7, 3, 7, 3, 3});  // as round-robin starters place ranks

  EXPECT_EQ(p.servers(), 2);
  EXPECT_EQ(p.server_of(0), 0);
  EXPECT_EQ(p.server_of(4), 1);
  EXPECT_EQ(p.place_of(2), 1);
  EXPECT_EQ(p.place_of(4), 2);
  EXPECT_TRUE(p.same_server(1, 3));
  EXPECT_FALSE(p.same_server(0, 1));
}

TEST(Placement, GroupsCrossServersWhereTheirRanksDo) {
  const Placement p = Placement::uniform(2, 2);

  EXPECT_FALSE(p.crosses_servers({0, 0, 2, 1}));
  EXPECT_TRUE(p.crosses_servers({0, 0, 2, 2}));
  EXPECT_TRUE(p.crosses_servers(world_group(4)));
  EXPECT_FALSE(p.crosses_servers({0, 3, 1, 1}));
}

TEST(Placement, IsOneServerUnlessSaid) {
  const Placement p;

  EXPECT_EQ(p.servers(), 1);
  EXPECT_TRUE(p.same_server(0, 5));
  EXPECT_EQ(p.place_of(5), 5);
}

}  // namespace
}  // namespace orrery
