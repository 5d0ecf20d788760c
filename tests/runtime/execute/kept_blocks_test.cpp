// Freed blocks that are kept: who gets them, and that they never add to the peak.
#include "core/runtime/execute/kept_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace orrery {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// The heap, counted: what is out now, and the most that ever was.
class CountedStorage final : public Storage {
 public:
  void* take(Space space, std::int64_t bytes) override {
    void* const block = host_storage().take(space, bytes);
    out_[block] = bytes;
    held_ += bytes;
    return block;
  }
  void give(Space space, void* block) noexcept override {
    held_ -= out_.at(block);
    out_.erase(block);
    host_storage().give(space, block);
  }
  std::int64_t capacity(Space space) const override { return host_storage().capacity(space); }
  void set(Space, void*, unsigned char, std::int64_t) override {}
  void read(Space, void*, const void*, std::int64_t) const override {}
  std::int64_t held() const { return held_; }

 private:
  std::map<void*, std::int64_t> out_;
  std::int64_t held_ = 0;
};

TEST(KeptBlocks, AreHandedOutAgainForAboutTheirSize) {
  CountedStorage heap;
  KeptBlocks blocks(heap);
  void* const first = blocks.take(Space::device, 8 * kMiB);
  blocks.give(Space::device, first);
  EXPECT_EQ(blocks.kept_bytes(), 8 * kMiB);
  EXPECT_EQ(blocks.take(Space::device, 8 * kMiB - 100), first);
  blocks.give(Space::device, first);
  void* const smaller = blocks.take(Space::device, 6 * kMiB);  // over an eighth less
  EXPECT_NE(smaller, first);
  EXPECT_EQ(heap.held(), 6 * kMiB) << "a kept block stays although both were never in use at once";
  blocks.give(Space::device, smaller);
}

TEST(KeptBlocks, OfAnotherSpaceStayThere) {
  CountedStorage heap;
  KeptBlocks blocks(heap);
  void* const on_device = blocks.take(Space::device, kMiB);
  void* const on_host = blocks.take(Space::host, kMiB);
  blocks.give(Space::device, on_device);
  blocks.give(Space::host, on_host);
  EXPECT_EQ(blocks.take(Space::host, kMiB), on_host);
  EXPECT_EQ(blocks.take(Space::device, kMiB), on_device);
  blocks.give(Space::device, on_device);
  blocks.give(Space::host, on_host);
}

TEST(KeptBlocks, SmallOnesGoBackAtOnce) {
  CountedStorage heap;
  KeptBlocks blocks(heap);
  void* const small = blocks.take(Space::device, KeptBlocks::kLeastKept - 1);
  blocks.give(Space::device, small);
  EXPECT_EQ(heap.held(), 0);
}

TEST(KeptBlocks, NeverTakeMoreThanThoseInUseTookAtTheirPeak) {
  CountedStorage heap;
  std::int64_t most_in_use = 0;
  {
    KeptBlocks blocks(heap);
    std::mt19937 draw(7);
    std::vector<std::pair<void*, std::int64_t>> live;
    std::int64_t in_use = 0;
    int again = 0;
    for (int i = 0; i < 4000; ++i) {
      if (live.empty() || (live.size() < 12 && draw() % 2 == 0)) {
        const std::int64_t bytes = kMiB / 4 * (1 + draw() % 16), before = heap.held();
        live.emplace_back(blocks.take(Space::device, bytes), bytes);
        again += heap.held() == before ? 1 : 0;
        in_use += bytes + bytes / 8;  // a kept block may be an eighth larger
        most_in_use = std::max(most_in_use, in_use);
      } else {
        const std::size_t which = draw() % live.size();
        blocks.give(Space::device, live[which].first);
        in_use -= live[which].second + live[which].second / 8;
        live[which] = live.back();
        live.pop_back();
      }
      ASSERT_LE(heap.held(), most_in_use);
    }
    EXPECT_GT(again, 500);
    for (const auto& [block, bytes] : live) blocks.give(Space::device, block);
  }
  EXPECT_EQ(heap.held(), 0);
}

}  // namespace
}  // namespace orrery
