#include "core/runtime/exchange_time.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace orrery {
namespace {

constexpr bool kInside = false, kOutside = true;

/// 0-2 both kinds are under way, 2-10 only one between servers: 1 second inside, 9 between.
TEST(ExchangeTime, AnInstantBelongsToWhatIsUnderWayAndHalfToEachOfBoth) {
  ExchangeTime time;

  time.under_way(kInside, +1, 100);
  time.under_way(kOutside, +2, 100);
  time.under_way(kInside, -1, 102);
  time.under_way(kOutside, -1, 105);
  time.under_way(kOutside, -1, 110);

  EXPECT_DOUBLE_EQ(time.external_share().value(), 0.9);
}

/// 0-4 nothing is under way and only a message inside the server is awaited; 4-5 it comes.
TEST(ExchangeTime, WaitingBelongsToWhatIsWaitedFor) {
  ExchangeTime time;

  time.awaited(kInside, +1, 0);
  time.awaited(kInside, -1, 4);
  time.under_way(kInside, +1, 4);
  time.under_way(kInside, -1, 5);

  EXPECT_EQ(time.external_share().value(), 0);
}

/// While one inside moves (0-3), what is awaited from outside does not count; from 3 to 4 it does.
TEST(ExchangeTime, WhatMovesGoesBeforeWhatIsAwaited) {
  ExchangeTime time;

  time.awaited(kOutside, +1, 0);
  time.under_way(kInside, +1, 0);
  time.under_way(kInside, -1, 3);
  time.awaited(kOutside, -1, 4);

  EXPECT_DOUBLE_EQ(time.external_share().value(), 0.25);
}

/// Both are awaited from 10 to 12, the other servers until 16: 1 and 1 + 4 of 6 seconds.
TEST(ExchangeTime, WaitingForSeveralIsSharedUntilTheFirstComes) {
  ExchangeTime time;

  time.add_wait(10, 12, 16);

  EXPECT_DOUBLE_EQ(time.external_share().value(), 5.0 / 6);
}

TEST(ExchangeTime, IsUnknownWhereNothingWasMeasured) {
  EXPECT_FALSE(ExchangeTime().external_share().has_value());
}

/// Rank 0 of two servers of two gets 1 row of its neighbour and 3 of each of the others.
TEST(ExternalShare, OfBytesIsThatOfWhatTheRankReceives) {
  const auto rows = [](std::vector<std::int64_t> list) {
    return std::make_shared<const std::vector<std::int64_t>>(std::move(list));
  };
  Tensor x, y;
  x.shape = {3, 5};
  y.shape = {7, 5};
  const AllToAllV exchange{x, y, rows({0, 1, 1, 1}), rows({0, 1, 3, 3}), world_group(4)};

  EXPECT_DOUBLE_EQ(external_share_of_bytes(exchange, Placement::uniform(2, 2), 0), 6.0 / 7);
  EXPECT_EQ(external_share_of_bytes(exchange, Placement(), 0), 0);
}

/// The root of a broadcast receives nothing: one of its three peers is on its own server.
TEST(ExternalShare, OfWhoReceivesNothingIsThatOfItsPeers) {
  Tensor x;
  x.shape = {3, 5};

  EXPECT_DOUBLE_EQ(
      external_share_of_bytes(Broadcast{x, 0, world_group(4)}, Placement::uniform(2, 2), 0),
      2.0 / 3);
}

}  // namespace
}  // namespace orrery
