#include "core/runtime/execute/memory.hpp"

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr unsigned char kGuard = 0xA5;
constexpr unsigned char kPoison = 0xFF;  // as float or double: NaN

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t pattern_bytes(const Csr& p) {
  return static_cast<std::int64_t>(p.offsets.size() * sizeof(EdgeIndex) +
                                   p.columns.size() * sizeof(Vertex));
}

}  // namespace

RankMemory::~RankMemory() {
  for (const auto& [id, block] : blocks_) storage(block.space).give(block.space, block.raw);
}

void RankMemory::allocate(std::uint32_t id, std::int64_t bytes, Space space) {
  const std::int64_t guard = rounded(guard_bytes_), whole = guard + rounded(bytes) + guard;
  void* raw = storage(space).take(space, whole);
  if (guard > 0) {
    storage(space).set(space, raw, kGuard, whole);
    storage(space).set(space, static_cast<char*>(raw) + guard, kPoison, bytes);
  }
  const std::lock_guard lock(mutex_);
  const bool is_new = blocks_.try_emplace(id, Block{raw, bytes, space}).second;
  ORRERY_ASSERT(is_new);
  held(space, bytes);
}

bool RankMemory::free(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(id);
  ORRERY_ASSERT(found != blocks_.end());
  const Block block = found->second;
  const bool whole = intact(block);
  storage(block.space).give(block.space, block.raw);
  held(block.space, -block.bytes);
  blocks_.erase(found);
  return whole;
}

void RankMemory::read(const Tensor& t, void* to) const {
  storage(t.space).read(t.space, to, bytes_at(t), t.bytes());
}

void RankMemory::add_sparse(std::uint32_t id, std::shared_ptr<const Csr> pattern) {
  const std::int64_t bytes = pattern_bytes(*pattern);
  hold_pattern(id, {std::move(pattern), nullptr, bytes});
}

void RankMemory::add_sparse_room(std::uint32_t id, const Counts& largest) {
  auto room = std::make_shared<Csr>();
  room->offsets.reserve(static_cast<std::size_t>(largest.rows) + 1);
  room->columns.reserve(static_cast<std::size_t>(largest.nnz));
  const std::int64_t bytes = Sparse{id, {largest.rows, largest.cols}, largest.nnz}.bytes();
  hold_pattern(id, {room, room, bytes});
}

void RankMemory::share_sparse(std::uint32_t id, const RankMemory& owner) {
  HeldPattern shared;
  {
    const std::lock_guard lock(owner.mutex_);
    const auto found = owner.patterns_.find(id);
    ORRERY_ASSERT(found != owner.patterns_.end());
    shared = found->second;
  }
  shared.bytes = 0;
  hold_pattern(id, std::move(shared));
}

void RankMemory::hold_pattern(std::uint32_t id, HeldPattern pattern) {
  const std::lock_guard lock(mutex_);
  held(Space::device, pattern.bytes);
  patterns_[id] = std::move(pattern);
}

void RankMemory::remove_sparse(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = patterns_.find(id);
  ORRERY_ASSERT(found != patterns_.end());
  held(Space::device, -found->second.bytes);
  patterns_.erase(found);
}

Csr& RankMemory::change_sparse(const Sparse& s) const {
  const std::lock_guard lock(mutex_);
  HeldPattern& held = held_pattern(s.id);
  if (!held.room) held.pattern = held.room = std::make_shared<Csr>(*held.pattern);
  return *held.room;
}

Csr& RankMemory::fill_sparse(const Sparse& s) const {
  const std::lock_guard lock(mutex_);
  const HeldPattern& held = held_pattern(s.id);
  ORRERY_ASSERT(held.room);
  Csr& room = *held.room;
  const auto offsets = static_cast<std::size_t>(s.shape.rows) + 1;
  const auto entries = static_cast<std::size_t>(s.nnz);
  ORRERY_ASSERT(offsets <= room.offsets.capacity() && entries <= room.columns.capacity());
  room.rows = s.shape.rows;
  room.cols = s.shape.cols;
  room.offsets.resize(offsets);
  room.columns.resize(entries);
  return room;
}

bool RankMemory::guards_intact() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [&](const auto& block) { return intact(block.second); });
}

std::int64_t RankMemory::bytes_in_use(Space space) const {
  const std::lock_guard lock(mutex_);
  return in_use_[at(space)];
}

std::int64_t RankMemory::peak_bytes(Space space) const {
  const std::lock_guard lock(mutex_);
  return peak_[at(space)];
}

const Csr& RankMemory::pattern(const Sparse& s) const {
  const std::lock_guard lock(mutex_);
  return *held_pattern(s.id).pattern;
}

RankMemory::HeldPattern& RankMemory::held_pattern(std::uint32_t id) const {
  const auto found = patterns_.find(id);
  ORRERY_ASSERT(found != patterns_.end() && found->second.pattern);
  return found->second;
}

void RankMemory::held(Space space, std::int64_t change) {
  in_use_[at(space)] += change;
  peak_[at(space)] = std::max(peak_[at(space)], in_use_[at(space)]);
}

void* RankMemory::base(std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(id);
  ORRERY_ASSERT(found != blocks_.end());
  return static_cast<char*>(found->second.raw) + rounded(guard_bytes_);
}

bool RankMemory::intact(const Block& block) const {
  if (guard_bytes_ == 0) return true;
  const std::int64_t guard = rounded(guard_bytes_), behind = rounded(block.bytes) - block.bytes;
  const auto kept = [&](std::int64_t first, std::int64_t count) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
    try {
      storage(block.space)
          .read(block.space, bytes.data(), static_cast<const char*>(block.raw) + first, count);
    } catch (const Error&) {
      return true;  // of a device that has failed; this is reported elsewhere
    }
    return std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c == kGuard; });
  };
  return kept(0, guard) && kept(guard + block.bytes, behind + guard);
}

}  // namespace orrery
