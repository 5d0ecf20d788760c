// The memory of one rank: turns tensors into pointers, and sparse patterns into what the host knows
// of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "core/base/error.hpp"
#include "core/ops/tensor.hpp"
#include "core/runtime/execute/storage.hpp"
#include "core/runtime/ledger.hpp"

namespace orrery {

/// Storage by id. Allocation and release happen on the rank's host thread, look-ups on its lane
/// threads.
class RankMemory {
 public:
  /// Guard bytes before and after every allocation, filled with a pattern (tests). `storage` must
  /// outlive the memory; pointers come from it, and the host can read them only if the storage
  /// allows it. Space::server_host comes from `server`, whatever device the rank has.
  explicit RankMemory(std::int64_t guard_bytes = 0, Storage& storage = host_storage(),
                      Storage& server = host_storage())
      : storage_(storage), server_(server), guard_bytes_(guard_bytes) {}
  ~RankMemory();
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  /// Storage for allocation `id`, 64-byte aligned, `bytes` long. With guards its contents are
  /// poisoned.
  ///
  /// Errors    std::bad_alloc
  void allocate(std::uint32_t id, std::int64_t bytes, Space space = Space::device);
  /// Frees allocation `id`; false when its guard bytes were overwritten.
  bool free(std::uint32_t id);
  void add_sparse(std::uint32_t id, std::shared_ptr<const Csr> pattern);
  /// Room for a pattern of at most this many rows and entries, for fill_sparse().
  void add_sparse_room(std::uint32_t id, const Counts& largest);
  /// The pattern that another memory holds under the same id and whose bytes count there.
  void share_sparse(std::uint32_t id, const RankMemory& owner);
  void remove_sparse(std::uint32_t id);
  /// True while no guard byte of any live allocation has changed.
  bool guards_intact() const;
  /// Bytes of all live allocations in a space (on the device with its patterns), counted where they
  /// are made: a second count beside the ledger's.
  std::int64_t bytes_in_use(Space space = Space::device) const;
  /// The largest bytes_in_use() of a space so far.
  std::int64_t peak_bytes(Space space = Space::device) const;

  /// First element of a window.
  template <class T>
  T* data(const Tensor& t) const {
    return static_cast<T*>(base(t.id)) + t.offset;
  }
  /// First element of the window as bytes.
  void* bytes_at(const Tensor& t) const {
    return static_cast<char*>(base(t.id)) + t.offset * bytes_of(t.dtype);
  }
  /// Copies the elements of a contiguous window to the host. No pending work may touch it.
  void read(const Tensor& t, void* to) const;
  const Csr& pattern(const Sparse& s) const;
  /// The pattern, to be changed in place: one that others share is copied first.
  ///
  /// Requires  nobody reads it meanwhile
  Csr& change_sparse(const Sparse& s) const;
  /// The pattern in a room, with the sizes of `s`; the caller must write its contents.
  Csr& fill_sparse(const Sparse& s) const;

 private:
  struct Block {
    void* raw = nullptr;
    std::int64_t bytes = 0;
    Space space = Space::device;
  };
  struct HeldPattern {
    std::shared_ptr<const Csr> pattern;
    std::shared_ptr<Csr> room;  ///< the same, for writing
    std::int64_t bytes = 0;
  };
  Storage& storage(Space space) const { return space == Space::server_host ? server_ : storage_; }
  void hold_pattern(std::uint32_t id, HeldPattern pattern);
  HeldPattern& held_pattern(std::uint32_t id) const;
  void* base(std::uint32_t id) const;
  bool intact(const Block& block) const;
  void held(Space space, std::int64_t change);

  Storage& storage_;
  Storage& server_;
  std::int64_t guard_bytes_;
  mutable std::mutex mutex_;
  std::array<std::int64_t, kSpaces> in_use_{}, peak_{};
  std::unordered_map<std::uint32_t, Block> blocks_;
  /// Changed by change_sparse() as memory is.
  mutable std::unordered_map<std::uint32_t, HeldPattern> patterns_;
};

}  // namespace orrery
