#include "core/runtime/execute/kept_blocks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/huge_pages.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace orrery {
namespace {

/// Of a large block the first `used` bytes may be touched. The address sanitizer watches the rest,
/// so that a tensor which is used after its release is noticed in kept blocks, too.
void allow([[maybe_unused]] void* block, [[maybe_unused]] std::int64_t bytes,
           [[maybe_unused]] std::int64_t used) {
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(block, static_cast<std::size_t>(bytes));
  __asan_unpoison_memory_region(block, static_cast<std::size_t>(used));
#endif
}

/// The system takes the pages within bytes [from, to) of a block, and maps others when they are touched.
void unmap(void* block, std::int64_t from, std::int64_t to) {
  const auto address = [block](std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(block) + static_cast<std::uintptr_t>(bytes);
  };
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (address(from) + page - 1) / page * page,
                       end = address(to) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace

KeptBlocks::~KeptBlocks() {
  for (const Block& block : blocks_) {
    allow(block.at, block.bytes, block.bytes);
    storage_.give(block.space, block.at);
  }
}

void* KeptBlocks::take(Space space, std::int64_t bytes) {
  if (bytes < kLeastKept) return storage_.take(space, bytes);
  const std::lock_guard lock(mutex_);
  if (Block* const kept = best_kept(space, bytes)) {
    kept->given = 0;
    use(*kept, bytes);
    void* const at = kept->at;
    make_room(0);  // moves blocks
    return at;
  }
  make_room(bytes);
  blocks_.reserve(blocks_.size() + 1);  // what can fail comes first
  blocks_.push_back({.at = storage_.take(space, bytes), .bytes = bytes, .space = space});
  use(blocks_.back(), bytes);
  return blocks_.back().at;
}

void KeptBlocks::give(Space space, void* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(blocks_, block, &Block::at);
  if (it == blocks_.end()) return storage_.give(space, block);
  it->given = ++gifts_;
  in_use_ -= std::exchange(it->used, 0);
  allow(it->at, it->bytes, 0);
}

std::int64_t KeptBlocks::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return mapped_ - in_use_;
}

KeptBlocks::Block* KeptBlocks::best_kept(Space space, std::int64_t bytes) {
  Block* best = nullptr;
  const auto cost = [bytes](const Block& block) {
    return std::pair(std::max<std::int64_t>(0, bytes - block.mapped), block.bytes);
  };
  for (Block& block : blocks_) {
    const bool fits = block.given > 0 && block.space == space && block.bytes >= bytes &&
                      block.bytes <= kMostTimes * bytes;
    if (fits && (best == nullptr || cost(block) < cost(*best))) best = &block;
  }
  return best;
}

void KeptBlocks::use(Block& block, std::int64_t bytes) noexcept {
  block.used = bytes;
  in_use_ += bytes;
  peak_in_use_ = std::max(peak_in_use_, in_use_);
  mapped_ += std::max<std::int64_t>(0, bytes - block.mapped);
  block.mapped = std::max(block.mapped, bytes);
  allow(block.at, block.bytes, bytes);
}

/// Pages go back until these bytes and all that is mapped are no more than is allowed.
void KeptBlocks::make_room(std::int64_t bytes) noexcept {
  const std::int64_t peak = std::max(peak_in_use_, in_use_ + bytes), most = peak + peak / 8;
  while (mapped_ + bytes > most && give_pages_of_oldest(mapped_ + bytes - most)) continue;
  for (Block& block : blocks_)  // those behind tensors
    if (mapped_ + bytes > most) give_pages(block, mapped_ + bytes - most);
}

/// Of the kept block that has waited longest; false if none is left.
bool KeptBlocks::give_pages_of_oldest(std::int64_t bytes) noexcept {
  const auto oldest = std::ranges::min_element(blocks_, {}, [](const Block& block) {
    return block.given > 0 ? block.given : ~std::uint64_t{0};
  });
  if (oldest == blocks_.end() || oldest->given == 0) return false;
  give_pages(*oldest, bytes);
  if (oldest->mapped > 0) return true;
  allow(oldest->at, oldest->bytes, oldest->bytes);
  storage_.give(oldest->space, oldest->at);
  *oldest = blocks_.back();
  blocks_.pop_back();
  return true;
}

/// At least so many of its pages that hold nothing, or all of them: no huge page in part.
void KeptBlocks::give_pages(Block& block, std::int64_t bytes) noexcept {
  constexpr auto kPage = static_cast<std::int64_t>(kHugePageBytes);
  const std::int64_t wanted = std::max<std::int64_t>(0, block.mapped - bytes) / kPage * kPage,
                     left = std::max(block.used, wanted);
  if (left == block.mapped) return;
  if (left > 0) unmap(block.at, left, block.mapped);
  mapped_ -= block.mapped - left;
  block.mapped = left;
}

}  // namespace orrery
