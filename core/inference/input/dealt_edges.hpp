// Edges by block of rows, in the order in which they come: what a thread deals while it reads.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "core/base/index.hpp"

namespace orrery {

/// Keys of edges in a chain of small chunks for each block. Nothing moves when more edges come, and
/// nobody has to know how many there will be.
class DealtEdges {
 public:
  using Key = std::uint64_t;

  explicit DealtEdges(std::int64_t blocks) : next_(at(blocks), nullptr) {}

  void add(std::size_t block, Key key) {
    Key*& next = next_[block];
    if (is_full(next)) next = chunk_after(next);
    *next++ = key;
  }
  /// use(keys) for each chunk of a block, the last one first. The keys may be written over.
  template <class Use>
  void each_chunk(std::size_t block, const Use& use) {
    Key* end = next_[block];
    while (end != nullptr) {
      Key* const chunk = reinterpret_cast<Key*>((address(end) - 1) / kChunkBytes * kChunkBytes);
      use(std::span<Key>(chunk + 1, end));
      end = before(chunk);
    }
  }
  /// What its chunks take, used or not.
  std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kChunkBytes = 2048;
  static constexpr std::size_t kKeysOfChunk = kChunkBytes / sizeof(Key);  // the first one is a link
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  static std::uintptr_t address(const Key* key) { return reinterpret_cast<std::uintptr_t>(key); }
  /// There is no room at `next`: it is the end of a chunk, or null.
  static bool is_full(const Key* next) { return address(next) % kChunkBytes == 0; }
  /// The end of the keys of the chunk before this one; null: it is the first.
  static Key* before(const Key* chunk) { return reinterpret_cast<Key*>(*chunk); }
  /// Room for the first key of a new chunk that is linked to the one that ends here.
  Key* chunk_after(Key* end);

  std::vector<Key*> next_;  ///< by block: where its next key goes
  std::vector<std::unique_ptr<Key, Free>> slabs_;
  Key *free_ = nullptr, *slab_end_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace orrery
