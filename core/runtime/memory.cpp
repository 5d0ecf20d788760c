#include "core/runtime/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace orrery {
namespace {

constexpr std::size_t kAlignment = 64;
/// Large tensors lie on huge pages where the system grants them: random rows then miss the TLB
/// rarely, which is worth up to twice the speed of a sparse product.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr unsigned char kGuard = 0xA5;
constexpr unsigned char kPoison = 0xFF;  // as float or double: NaN

std::size_t rounded(std::int64_t bytes, std::size_t to = kAlignment) {
  return (static_cast<std::size_t>(bytes) + to - 1) / to * to;
}

void* aligned_storage(std::size_t bytes) {
  if (bytes < 2 * kHugePage) return std::aligned_alloc(kAlignment, std::max(bytes, kAlignment));
  const std::size_t whole = rounded(static_cast<std::int64_t>(bytes), kHugePage);
  void* raw = std::aligned_alloc(kHugePage, whole);
  if (raw != nullptr) ::madvise(raw, whole, MADV_HUGEPAGE);  // a wish: refusal costs speed only
  return raw;
}

std::int64_t pattern_bytes(const Csr& p) {
  return static_cast<std::int64_t>(p.offsets.size() * sizeof(EdgeIndex) +
                                   p.columns.size() * sizeof(Vertex));
}

}  // namespace

HostMemory::~HostMemory() {
  for (const Block& block : blocks_) std::free(block.raw);
}

void HostMemory::allocate(std::uint32_t id, std::int64_t bytes) {
  const std::size_t guard = rounded(guard_bytes_);
  const std::size_t whole = guard + rounded(bytes) + guard;
  void* raw = aligned_storage(whole);
  if (raw == nullptr) throw std::bad_alloc();
  if (guard > 0) {
    auto* at = static_cast<unsigned char*>(raw);
    std::memset(at, kGuard, whole);
    std::memset(at + guard, kPoison, static_cast<std::size_t>(bytes));
  }
  const std::lock_guard lock(mutex_);
  if (blocks_.size() <= id) blocks_.resize(id + 1);
  ORRERY_ASSERT(blocks_[id].raw == nullptr);
  blocks_[id] = {raw, bytes};
  held(bytes);
}

bool HostMemory::free(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const bool whole = intact(blocks_[id]);
  std::free(blocks_[id].raw);
  held(-blocks_[id].bytes);
  blocks_[id] = {};
  return whole;
}

void HostMemory::add_sparse(std::uint32_t id, std::shared_ptr<const Csr> pattern) {
  const std::int64_t bytes = pattern_bytes(*pattern);
  hold_pattern(id, {std::move(pattern), nullptr, bytes});
}

void HostMemory::add_sparse_room(std::uint32_t id, const Counts& largest) {
  auto room = std::make_shared<Csr>();
  room->offsets.reserve(static_cast<std::size_t>(largest.rows) + 1);
  room->columns.reserve(static_cast<std::size_t>(largest.nnz));
  const std::int64_t bytes = Sparse{id, {largest.rows, largest.cols}, largest.nnz}.bytes();
  hold_pattern(id, {room, room, bytes});
}

void HostMemory::hold_pattern(std::uint32_t id, HeldPattern pattern) {
  const std::lock_guard lock(mutex_);
  if (patterns_.size() <= id) patterns_.resize(id + 1);
  held(pattern.bytes);
  patterns_[id] = std::move(pattern);
}

void HostMemory::remove_sparse(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  held(-patterns_[id].bytes);
  patterns_[id] = {};
}

Csr& HostMemory::fill_sparse(const Sparse& s) const {
  const std::lock_guard lock(mutex_);
  ORRERY_ASSERT(s.id < patterns_.size() && patterns_[s.id].room);
  Csr& room = *patterns_[s.id].room;
  const auto offsets = static_cast<std::size_t>(s.shape.rows) + 1;
  const auto entries = static_cast<std::size_t>(s.nnz);
  ORRERY_ASSERT(offsets <= room.offsets.capacity() && entries <= room.columns.capacity());
  room.rows = s.shape.rows;
  room.cols = s.shape.cols;
  room.offsets.resize(offsets);
  room.columns.resize(entries);
  return room;
}

bool HostMemory::guards_intact() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(blocks_.begin(), blocks_.end(), [&](const Block& b) { return intact(b); });
}

std::int64_t HostMemory::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::int64_t HostMemory::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

const Csr& HostMemory::pattern(const Sparse& s) const {
  const std::lock_guard lock(mutex_);
  ORRERY_ASSERT(s.id < patterns_.size() && patterns_[s.id].pattern);
  return *patterns_[s.id].pattern;
}

void HostMemory::held(std::int64_t change) {
  in_use_ += change;
  peak_ = std::max(peak_, in_use_);
}

void* HostMemory::base(std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  ORRERY_ASSERT(id < blocks_.size() && blocks_[id].raw != nullptr);
  return static_cast<char*>(blocks_[id].raw) + rounded(guard_bytes_);
}

bool HostMemory::intact(const Block& block) const {
  if (block.raw == nullptr || guard_bytes_ == 0) return true;
  const auto* at = static_cast<const unsigned char*>(block.raw);
  const std::size_t guard = rounded(guard_bytes_);
  const auto kept = [](const unsigned char* first, const unsigned char* last) {
    return std::all_of(first, last, [](unsigned char c) { return c == kGuard; });
  };
  return kept(at, at + guard) &&
         kept(at + guard + block.bytes, at + guard + rounded(block.bytes) + guard);
}

}  // namespace orrery
