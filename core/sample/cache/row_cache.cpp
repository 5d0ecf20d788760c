#include "core/sample/cache/row_cache.hpp"

#include <utility>

#include "core/base/index.hpp"

namespace orrery {

class RowCache::Replacement {
 public:
  virtual ~Replacement() = default;
  /// A row in this slot was requested.
  virtual void used(std::int32_t slot) = 0;
  /// The slot for a new row.
  virtual std::int32_t victim() = 0;
};

namespace {

/// A ring through all slots from the most recently used to the least recently used; slots that were
/// never filled come last.
class LeastRecentlyUsed : public RowCache::Replacement {
 public:
  explicit LeastRecentlyUsed(std::int64_t slots) : newer_(at(slots)), older_(at(slots)) {
    const auto n = static_cast<std::int32_t>(slots);
    for (std::int32_t s = 0; s < n; ++s) {
      newer_[at(s)] = (s + n - 1) % n;
      older_[at(s)] = (s + 1) % n;
    }
  }
  void used(std::int32_t slot) override {
    if (slot == newest_) return;
    older_[at(newer_[at(slot)])] = older_[at(slot)];
    newer_[at(older_[at(slot)])] = newer_[at(slot)];
    const std::int32_t oldest = newer_[at(newest_)];
    link(oldest, slot);
    link(slot, newest_);
    newest_ = slot;
  }
  std::int32_t victim() override {
    // The oldest becomes the newest when the ring is entered one step earlier.
    newest_ = newer_[at(newest_)];
    return newest_;
  }

 private:
  void link(std::int32_t newer, std::int32_t older) {
    older_[at(newer)] = older;
    newer_[at(older)] = newer;
  }
  std::vector<std::int32_t> newer_, older_;  ///< the ring is closed: the newest follows the oldest
  std::int32_t newest_ = 0;
};

class Clock : public RowCache::Replacement {
 public:
  explicit Clock(std::int64_t slots) : was_used_(at(slots), false) {}
  void used(std::int32_t slot) override { was_used_[at(slot)] = true; }
  std::int32_t victim() override {
    while (was_used_[at(hand_)]) {
      was_used_[at(hand_)] = false;
      advance();
    }
    const std::int32_t slot = hand_;
    was_used_[at(slot)] = true;
    advance();
    return slot;
  }

 private:
  void advance() { hand_ = at(hand_) + 1 == was_used_.size() ? 0 : hand_ + 1; }
  std::vector<bool> was_used_;
  std::int32_t hand_ = 0;
};

}  // namespace

RowCache::RowCache(std::int64_t vertices, std::int64_t slots,
                   std::unique_ptr<Replacement> replacement)
    : slots_(slots),
      slot_of_(at(vertices), kNone),
      row_in_(at(slots), kNone),
      replacement_(std::move(replacement)) {}

RowCache::RowCache(RowCache&&) noexcept = default;
RowCache& RowCache::operator=(RowCache&&) noexcept = default;
RowCache::~RowCache() = default;

RowCache RowCache::fixed(std::int64_t vertices, std::span<const Vertex> rows) {
  RowCache cache(vertices, std::ssize(rows), nullptr);
  for (std::int32_t s = 0; const Vertex row : rows) {
    cache.row_in_[at(s)] = row;
    cache.slot_of_[at(row)] = s++;
  }
  return cache;
}

RowCache RowCache::lru(std::int64_t vertices, std::int64_t slots) {
  return {vertices, slots, slots > 0 ? std::make_unique<LeastRecentlyUsed>(slots) : nullptr};
}

RowCache RowCache::clock(std::int64_t vertices, std::int64_t slots) {
  return {vertices, slots, slots > 0 ? std::make_unique<Clock>(slots) : nullptr};
}

RowCache::Answer RowCache::ask(std::span<const Vertex> rows) {
  Answer answer{std::vector<std::int32_t>(rows.size(), kNone),
                std::vector<std::int32_t>(rows.size(), kNone)};
  // A slot may be taken twice by one batch: only the last row stays in it.
  std::vector<std::pair<std::int32_t, std::size_t>> filled;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t there = slot_of_[at(rows[i])];
    if (there != kNone) {
      answer.from[i] = there;
      if (replacement_) replacement_->used(there);
    } else if (replacement_) {
      const std::int32_t slot = replacement_->victim();
      if (row_in_[at(slot)] != kNone) slot_of_[at(row_in_[at(slot)])] = kNone;
      row_in_[at(slot)] = rows[i];
      slot_of_[at(rows[i])] = slot;
      filled.emplace_back(slot, i);
    }
    hits_ += there != kNone ? 1 : 0;
  }
  for (const auto& [slot, i] : filled)
    if (row_in_[at(slot)] == rows[i]) answer.into[i] = slot;
  asked_ += std::ssize(rows);
  return answer;
}

std::int64_t RowCache::bytes(std::int64_t vertices, std::int64_t slots) {
  // Two words per slot for the order of an LRU cache; a clock needs fewer bits.
  return static_cast<std::int64_t>(sizeof(std::int32_t)) * (vertices + 3 * slots);
}

}  // namespace orrery
