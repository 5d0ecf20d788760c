#include "core/runtime/execute/kept_blocks.hpp"

#include <algorithm>

#include "core/base/error.hpp"

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

}  // namespace

KeptBlocks::~KeptBlocks() { drop_kept_above(0); }

void* KeptBlocks::take(Space space, std::int64_t bytes) {
  if (bytes < kLeastKept) return storage_.take(space, bytes);
  const std::lock_guard lock(mutex_);
  if (Block* const kept = best_kept(space, bytes)) {
    kept->given = 0;
    kept_ -= kept->bytes;
    in_use_ += kept->bytes;
    peak_in_use_ = std::max(peak_in_use_, in_use_);
    allow(kept->at, kept->bytes, bytes);
    return kept->at;
  }
  blocks_.reserve(blocks_.size() + 1);  // what can fail comes first
  drop_kept_above(std::max<std::int64_t>(0, peak_in_use_ - in_use_ - bytes));
  void* const fresh = storage_.take(space, bytes);
  blocks_.push_back({.at = fresh, .bytes = bytes, .space = space});
  in_use_ += bytes;
  peak_in_use_ = std::max(peak_in_use_, in_use_);
  return fresh;
}

void KeptBlocks::give(Space space, void* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(blocks_, block, &Block::at);
  if (it == blocks_.end()) return storage_.give(space, block);
  it->given = ++gifts_;
  in_use_ -= it->bytes;
  kept_ += it->bytes;
  allow(it->at, it->bytes, 0);
}

std::int64_t KeptBlocks::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

KeptBlocks::Block* KeptBlocks::best_kept(Space space, std::int64_t bytes) {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    const bool fits = block.given > 0 && block.space == space && block.bytes >= bytes &&
                      block.bytes <= bytes + bytes / 8;
    if (fits && (best == nullptr || block.bytes < best->bytes)) best = &block;
  }
  return best;
}

/// Those go first that have waited longest.
void KeptBlocks::drop_kept_above(std::int64_t bytes) noexcept {
  while (kept_ > bytes) {
    const auto oldest = std::ranges::min_element(blocks_, {}, [](const Block& block) {
      return block.given > 0 ? block.given : ~std::uint64_t{0};
    });
    ORRERY_ASSERT(oldest != blocks_.end() && oldest->given > 0);
    allow(oldest->at, oldest->bytes, oldest->bytes);
    storage_.give(oldest->space, oldest->at);
    kept_ -= oldest->bytes;
    *oldest = blocks_.back();
    blocks_.pop_back();
  }
}

}  // namespace orrery
