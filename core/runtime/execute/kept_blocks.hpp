// Freed blocks that are kept for the next tensor of about their size.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/runtime/execute/storage.hpp"

namespace orrery {

/// Hands out blocks of another storage, and keeps large ones that are given back: the pages of a
/// fresh block are mapped when they are first touched, which takes as long as a kernel that writes
/// them. Whoever loads the same parts in every epoch pays for that once.
///
/// Blocks in use and kept ones together never take more than those in use took at their peak, so a
/// forecast of peak memory holds as before.
class KeptBlocks final : public Storage {
 public:
  /// Smaller blocks are not kept: the heap does that by itself.
  static constexpr std::int64_t kLeastKept = std::int64_t{128} << 10;

  /// `storage` must outlive this one.
  explicit KeptBlocks(Storage& storage) : storage_(storage) {}
  ~KeptBlocks() override;
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;

  /// The smallest kept block of the space with at least `bytes` and at most an eighth more; else a
  /// fresh one. A kept block holds what its last tensor left there.
  void* take(Space space, std::int64_t bytes) override;
  void give(Space space, void* block) noexcept override;
  std::int64_t capacity(Space space) const override { return storage_.capacity(space); }
  void set(Space space, void* at, unsigned char byte, std::int64_t bytes) override {
    storage_.set(space, at, byte, bytes);
  }
  void read(Space space, void* to, const void* from, std::int64_t bytes) const override {
    storage_.read(space, to, from, bytes);
  }
  /// Bytes of the blocks that are kept for later.
  std::int64_t kept_bytes() const;

 private:
  struct Block {
    void* at = nullptr;
    std::int64_t bytes = 0;
    Space space{};
    std::uint64_t given = 0;  // when it was given back, counted in gifts; 0 while it is in use
  };

  Block* best_kept(Space space, std::int64_t bytes);
  void drop_kept_above(std::int64_t bytes) noexcept;

  Storage& storage_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;  // large ones, in use and kept
  std::int64_t in_use_ = 0, kept_ = 0, peak_in_use_ = 0;
  std::uint64_t gifts_ = 0;
};

}  // namespace orrery
