#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "sim/replay/rank_trace.hpp"

namespace orrery::sim {
namespace {

/// Lanes add in a random order, some nothing and some many blocks.
TEST(DoneRecords, GiveEachLaneItsOwnInOrder) {
  constexpr int kManyLanes = 40, kSteps = 5000;
  std::vector<DoneRecords::OfLane> lanes(kManyLanes);
  std::vector<std::vector<std::pair<double, double>>> expected(kManyLanes);  // end, share
  DoneRecords records(DoneRecords::blocks_for(kSteps) + kManyLanes);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const auto bits = random_bits(1, Purpose::permutation, 0, step);
    const std::size_t lane = bits[0] % (1 + bits[1] % kManyLanes);  // the first ones do most
    const double share = bits[2] % 3 == 0 ? 0.25 : 0;

    records.add(lanes[lane], {step * 1.0, step + 0.5}, share);
    expected[lane].emplace_back(step + 0.5, share);
  }

  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    DoneRecords::Reader reader(records, lanes[lane]);
    for (const auto& [end, share] : expected[lane]) {
      ASSERT_FALSE(reader.over());
      EXPECT_EQ(reader.done().begin, end - 0.5);
      EXPECT_EQ(reader.done().end, end);
      EXPECT_EQ(reader.external_share(), share);
      reader.advance();
    }
    EXPECT_TRUE(reader.over());
  }
  EXPECT_GT(lanes.front().count, 4 * DoneRecords::kBlock);
}

}  // namespace
}  // namespace orrery::sim
