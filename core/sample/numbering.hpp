// Local numbers of the vertices of a sample, in the order of their first occurrence.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

/// A base that grows separates the numbers of one sample from those of earlier ones: nothing is
/// cleared between samples, and what an earlier one left counts as empty.
class NumberingBase {
 protected:
  /// Whether the memory must be cleared first, because numbers have run out.
  bool next_sample(std::int64_t most) {
    constexpr auto kLast = std::int64_t{std::numeric_limits<std::uint32_t>::max()};
    base_ += used_;
    used_ = 0;
    if (base_ + most <= kLast) return false;
    base_ = 1;
    return true;
  }
  std::int64_t base_ = 1;  ///< entries below it are empty
  std::int64_t used_ = 0;
};

/// One entry for each vertex of the graph: one access per look-up, 4 bytes per vertex.
class DenseNumbering : NumberingBase {
 public:
  explicit DenseNumbering(std::int64_t vertices) : entries_(at(vertices), 0) {}

  void begin() {
    if (next_sample(static_cast<std::int64_t>(entries_.size())))
      entries_.assign(entries_.size(), 0);
  }
  void announce(Vertex v) const { prefetch_to_write(&entries_[at(v)]); }
  /// The number of v; −1: it has none.
  Vertex find(Vertex v) const {
    const std::uint32_t entry = entries_[at(v)];
    return entry >= base_ ? static_cast<Vertex>(entry - base_) : -1;
  }
  /// The number of v; a new vertex gets the next number and is appended.
  Vertex number(Vertex v, std::vector<Vertex>& vertices) {
    std::uint32_t& entry = entries_[at(v)];
    if (entry >= base_) return static_cast<Vertex>(entry - base_);
    entry = static_cast<std::uint32_t>(base_ + used_);
    vertices.push_back(v);
    return static_cast<Vertex>(used_++);
  }

 private:
  std::vector<std::uint32_t> entries_;
};

/// A table with open addressing, sized once for the largest sample: it never grows.
class TableNumbering : NumberingBase {
 public:
  /// `most`: largest number of vertices of a sample; at most half of the table is used.
  explicit TableNumbering(std::int64_t most)
      : most_(most),
        slots_(std::bit_ceil(static_cast<std::size_t>(2 * most + 2))),
        shift_(64 - std::countr_zero(slots_.size())) {}

  static std::int64_t bytes(std::int64_t most) {
    return static_cast<std::int64_t>(sizeof(Slot) *
                                     std::bit_ceil(static_cast<std::size_t>(2 * most + 2)));
  }

  void begin() {
    if (next_sample(most_)) slots_.assign(slots_.size(), {});
  }
  void announce(Vertex v) const { prefetch_to_write(&slots_[first(v)]); }
  Vertex find(Vertex v) const {
    for (std::size_t i = first(v);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].entry < base_) return -1;
      if (slots_[i].vertex == v) return static_cast<Vertex>(slots_[i].entry - base_);
    }
  }
  Vertex number(Vertex v, std::vector<Vertex>& vertices) {
    for (std::size_t i = first(v);; i = (i + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[i];
      if (slot.entry < base_) {
        slot = {v, static_cast<std::uint32_t>(base_ + used_)};
        vertices.push_back(v);
        return static_cast<Vertex>(used_++);
      }
      if (slot.vertex == v) return static_cast<Vertex>(slot.entry - base_);
    }
  }

 private:
  struct Slot {
    Vertex vertex = 0;
    std::uint32_t entry = 0;
  };
  std::size_t first(Vertex v) const {  // Fibonacci hashing
    return static_cast<std::size_t>(
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)) * 0x9E3779B97F4A7C15U) >>
        shift_);
  }
  std::int64_t most_;
  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace orrery
