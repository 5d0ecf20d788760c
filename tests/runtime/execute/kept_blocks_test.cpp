// Freed blocks that are kept: who gets them, and that they never add to the peak.
#include "core/runtime/execute/kept_blocks.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
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
    ++taken_;
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
  int taken() const { return taken_; }

 private:
  std::map<void*, std::int64_t> out_;
  std::int64_t held_ = 0;
  int taken_ = 0;
};

/// Whether a page of the system holds this byte of a block.
bool is_mapped(const void* block, std::int64_t byte) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const auto at = reinterpret_cast<std::uintptr_t>(block) + static_cast<std::uintptr_t>(byte);
  unsigned char resident = 0;
  ::mincore(reinterpret_cast<void*>(at / static_cast<std::uintptr_t>(page) *
                                    static_cast<std::uintptr_t>(page)),
            1, &resident);
  return (resident & 1U) != 0;
}

TEST(KeptBlocks, AreHandedOutAgainForATensorOfHalfTheirSizeOrMore) {
  CountedStorage heap;
  KeptBlocks blocks(heap);
  void* const first = blocks.take(Space::device, 8 * kMiB);
  blocks.give(Space::device, first);
  EXPECT_EQ(blocks.kept_bytes(), 8 * kMiB);
  EXPECT_EQ(blocks.take(Space::device, 4 * kMiB), first);
  EXPECT_EQ(blocks.kept_bytes(), 4 * kMiB) << "behind the tensor";
  blocks.give(Space::device, first);
  void* const smaller = blocks.take(Space::device, 4 * kMiB - 1);
  EXPECT_NE(smaller, first);
  blocks.give(Space::device, smaller);
}

/// 8 MiB were in use at once, so 9 MiB may be mapped: one huge page makes room for 3 MiB, and the others
/// are still there for the next tensor.
TEST(KeptBlocks, GiveBackNoMorePagesThanAnotherTensorNeeds) {
  CountedStorage heap;
  KeptBlocks blocks(heap);
  void* const kept = blocks.take(Space::device, 8 * kMiB);
  std::memset(kept, 1, 8 * kMiB);
  blocks.give(Space::device, kept);

  void* const other = blocks.take(Space::device, 3 * kMiB);

  EXPECT_NE(other, kept);
  EXPECT_EQ(blocks.kept_bytes(), 6 * kMiB);
  EXPECT_TRUE(is_mapped(kept, 6 * kMiB - 1));
  EXPECT_FALSE(is_mapped(kept, 6 * kMiB));
  EXPECT_FALSE(is_mapped(kept, 8 * kMiB - 1));
  EXPECT_EQ(blocks.take(Space::device, 5 * kMiB), kept);
  EXPECT_EQ(blocks.kept_bytes(), kMiB) << "behind the tensor";
  blocks.give(Space::device, kept);
  blocks.give(Space::device, other);
}

/// Parts of 6, 8 and 5 MiB, each with three tensors, as a rank loads them in turn.
TEST(KeptBlocks, HoldPartsOfUnequalSizeWithoutFreshPages) {
  CountedStorage heap;
  KeptBlocks blocks(heap);
  const auto part = [&](std::int64_t bytes) {
    std::vector<void*> tensors;
    for (const std::int64_t size : {bytes, bytes / 4, bytes})
      tensors.push_back(blocks.take(Space::device, size));
    for (void* const tensor : tensors) blocks.give(Space::device, tensor);
    return std::set<void*>(tensors.begin(), tensors.end());
  };
  part(6 * kMiB);
  const auto largest = part(8 * kMiB);

  for (int epoch = 0; epoch < 3; ++epoch)
    for (const std::int64_t size : {6, 8, 5}) EXPECT_EQ(part(size * kMiB), largest) << size;
  EXPECT_LE(blocks.kept_bytes(), 18 * kMiB + 18 * kMiB / 8);
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

TEST(KeptBlocks, NeverTakeOverAnEighthMoreThanThoseInUseTookAtTheirPeak) {
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
        const std::int64_t bytes = kMiB / 4 * (1 + draw() % 16), before = heap.taken();
        live.emplace_back(blocks.take(Space::device, bytes), bytes);
        again += heap.taken() == before ? 1 : 0;
        in_use += bytes;
        most_in_use = std::max(most_in_use, in_use);
      } else {
        const std::size_t which = draw() % live.size();
        blocks.give(Space::device, live[which].first);
        in_use -= live[which].second;
        live[which] = live.back();
        live.pop_back();
      }
      ASSERT_LE(in_use + blocks.kept_bytes(), most_in_use + most_in_use / 8);
    }
    EXPECT_GT(again, 500);
    for (const auto& [block, bytes] : live) blocks.give(Space::device, block);
  }
  EXPECT_EQ(heap.held(), 0);
}

}  // namespace
}  // namespace orrery
