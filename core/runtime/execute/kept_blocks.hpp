// Freed blocks that are kept for later tensors.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/runtime/execute/storage.hpp"

namespace orrery {

/// Hands out blocks of another storage, and keeps large ones that are given back: the pages of a
/// fresh block are mapped when they are first touched, which takes as long as a kernel that writes
/// them. Whoever loads the same parts in every epoch pays for that once, also if the parts differ in
/// size.
///
/// A tensor may get a block that is larger. The pages behind it stay mapped as long as there is room
/// for them: all pages together never take over an eighth more than the tensors took at their peak, so
/// a forecast of peak memory holds as before.
class KeptBlocks final : public Storage {
 public:
  /// Smaller blocks are not kept: the heap does that by itself.
  static constexpr std::int64_t kLeastKept = std::int64_t{128} << 10;
  /// A block is at most this many times as large as its tensor. Otherwise small tensors would take
  /// the blocks of large ones, which would then need fresh ones.
  static constexpr std::int64_t kMostTimes = 2;

  /// `storage` must outlive this one. Its blocks are memory of the host.
  explicit KeptBlocks(Storage& storage) : storage_(storage) {}
  ~KeptBlocks() override;
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;

  /// The kept block of the space, with at least `bytes` and at most kMostTimes as many, that needs the
  /// fewest new pages, of these the smallest; else a fresh one. A kept block holds what its last
  /// tensor left there.
  void* take(Space space, std::int64_t bytes) override;
  void give(Space space, void* block) noexcept override;
  std::int64_t capacity(Space space) const override { return storage_.capacity(space); }
  void set(Space space, void* at, unsigned char byte, std::int64_t bytes) override {
    storage_.set(space, at, byte, bytes);
  }
  void read(Space space, void* to, const void* from, std::int64_t bytes) const override {
    storage_.read(space, to, from, bytes);
  }
  /// Bytes that are mapped and hold no tensor.
  std::int64_t kept_bytes() const;

 private:
  struct Block {
    void* at = nullptr;
    std::int64_t bytes = 0;
    Space space{};
    std::int64_t used = 0;  // by its tensor; 0 while it is kept
    /// The first bytes, which may have been touched; no fewer than are used.
    std::int64_t mapped = 0;
    std::uint64_t given = 0;  // when it was given back, counted in gifts; 0 while it is in use
  };

  Block* best_kept(Space space, std::int64_t bytes);
  void use(Block& block, std::int64_t bytes) noexcept;
  void make_room(std::int64_t bytes) noexcept;
  bool give_pages_of_oldest(std::int64_t bytes) noexcept;
  void give_pages(Block& block, std::int64_t bytes) noexcept;

  Storage& storage_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;  // large ones, in use and kept
  std::int64_t in_use_ = 0, mapped_ = 0, peak_in_use_ = 0;
  std::uint64_t gifts_ = 0;
};

}  // namespace orrery
