// Which remote rows a rank keeps, so that it does not fetch them again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// Numbers the slots of a cache's memory. For each batch of rows it says which are present, which
/// must be fetched, and which slots the fetched ones fill. The rows themselves are elsewhere: the
/// owner of the memory copies them.
class RowCache {
 public:
  static constexpr std::int32_t kNone = -1;

  /// For each requested row. Copy present rows out of their slots before any fetched row is copied
  /// in, because one batch may both read and fill a slot.
  ///
  /// Shapes    [requested rows] each
  struct Answer {
    std::vector<std::int32_t> from;  ///< the slot that holds the row; kNone: it must be fetched
    std::vector<std::int32_t> into;  ///< the slot that a fetched row fills; kNone: it is not kept
  };

  /// Keeps `rows`, row i in slot i, and never others.
  ///
  /// Shapes    rows: distinct, in [0, vertices)
  static RowCache fixed(std::int64_t vertices, std::span<const Vertex> rows);
  /// Keeps the most recently requested rows: a new row replaces the least recently requested one.
  static RowCache lru(std::int64_t vertices, std::int64_t slots);
  /// Nearly the same with one bit per slot: a hand goes round and takes the first slot that was not
  /// requested since it last passed.
  ///
  /// Source    Corbató, "A paging experiment with the Multics system" (1968)
  static RowCache clock(std::int64_t vertices, std::int64_t slots);

  RowCache(RowCache&&) noexcept;
  RowCache& operator=(RowCache&&) noexcept;
  ~RowCache();

  /// The rows are looked up one after the other, in their order.
  ///
  /// Shapes    rows: distinct
  /// Cost      one random access per row
  Answer ask(std::span<const Vertex> rows);

  std::int64_t slots() const { return slots_; }
  /// Counts since it was made.
  std::int64_t asked() const { return asked_; }
  std::int64_t hits() const { return hits_; }
  /// Memory of the tables for this many vertices and slots, without the rows.
  static std::int64_t bytes(std::int64_t vertices, std::int64_t slots);

  /// The handling of missing rows, and where a new one goes.
  class Replacement;

 private:
  RowCache(std::int64_t vertices, std::int64_t slots, std::unique_ptr<Replacement> replacement);

  std::int64_t slots_, asked_ = 0, hits_ = 0;
  std::vector<std::int32_t> slot_of_;         ///< [vertices]
  std::vector<Vertex> row_in_;                ///< [slots]; kNone: empty
  std::unique_ptr<Replacement> replacement_;  ///< empty if the rows are fixed
};

}  // namespace orrery
