// The arena against a plain map of bytes.
#include "backends/cuda/device/arena.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/rng.hpp"

namespace orrery::cuda {
namespace {

TEST(CudaArena, RangesOfARandomHistoryNeverOverlapAndAllComeBack) {
  constexpr std::int64_t kBlocks = 100;
  Arena arena(kBlocks * Arena::kAlignment + 13);
  Sequence draw(3, Purpose::features, 0);
  std::vector<bool> used(kBlocks);
  struct Range {
    std::int64_t first, blocks;
  };
  std::vector<Range> live;
  const auto longest_hole = [&] {
    std::int64_t longest = 0, now = 0;
    for (const bool taken : used) longest = std::max(longest, now = taken ? 0 : now + 1);
    return longest * Arena::kAlignment;
  };
  for (int step = 0; step < 5000; ++step) {
    if (draw.below(2) == 0 && !live.empty()) {
      const auto at = static_cast<std::ptrdiff_t>(draw.below(live.size()));
      const Range range = live[static_cast<std::size_t>(at)];
      live.erase(live.begin() + at);
      ASSERT_TRUE(arena.give_back(range.first * Arena::kAlignment));
      for (std::int64_t b = 0; b < range.blocks; ++b)
        used[static_cast<std::size_t>(range.first + b)] = false;
    } else {
      const auto bytes = static_cast<std::int64_t>(draw.below(20 * Arena::kAlignment));
      const auto first = arena.take(bytes);
      const std::int64_t blocks =
          std::max<std::int64_t>(1, (bytes + Arena::kAlignment - 1) / Arena::kAlignment);
      ASSERT_EQ(first.has_value(), blocks * Arena::kAlignment <= longest_hole());
      if (!first) continue;
      ASSERT_EQ(*first % Arena::kAlignment, 0);
      live.push_back({*first / Arena::kAlignment, blocks});
      for (std::int64_t b = 0; b < blocks; ++b) {
        const auto at = static_cast<std::size_t>(live.back().first + b);
        ASSERT_FALSE(used[at]);
        used[at] = true;
      }
    }
    ASSERT_EQ(arena.largest_hole(), longest_hole());
    ASSERT_EQ(arena.in_use(), std::count(used.begin(), used.end(), true) * Arena::kAlignment);
  }
  for (const Range& range : live) EXPECT_TRUE(arena.give_back(range.first * Arena::kAlignment));
  EXPECT_EQ(arena.largest_hole(), kBlocks * Arena::kAlignment);
  EXPECT_EQ(arena.in_use(), 0);
}

TEST(CudaArena, TakesTheSmallestHoleThatIsLargeEnough) {
  Arena arena(20 * Arena::kAlignment);
  const auto blocks = [&](std::int64_t n) { return *arena.take(n * Arena::kAlignment); };
  const std::int64_t large = blocks(5);
  blocks(1);
  const std::int64_t small = blocks(2);
  blocks(1);

  arena.give_back(large);
  arena.give_back(small);

  EXPECT_EQ(blocks(2), small);
  EXPECT_EQ(blocks(3), large);
  EXPECT_FALSE(arena.give_back(17));
}

}  // namespace
}  // namespace orrery::cuda
