// The feature rows of batches that are fetched into host memory before they are loaded.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/strategy/store/feature_store.hpp"

namespace orrery {

/// Slots in pinned memory: one for each fetched batch and one for the batch that is being loaded. A
/// batch's rows come into its slot while the batches before it compute: first the pulled rows, by
/// owner, then the rows that the rank keeps for the whole run.
///
/// Placement copies of rows of all owners, in the pinned host memory of this rank
class RowsAhead {
 public:
  /// `ahead`: largest number of batches that are fetched and not yet loaded. `most`: largest number
  /// of rows of any batch. A slot has memory for a quarter more than its first batch needs, at most
  /// for all.
  ///
  /// Requires  ahead >= 1; `store`, which outlives this, keeps rows for the whole run or none
  RowsAhead(Runtime& rt, FeatureStore& store, int ahead, std::int64_t most);

  /// The next slot ← rows, on the store lane. `counted`: only the number of the batch's rows is
  /// known.
  void fetch(const WantedRows& rows, bool counted);
  /// features ← rows of the first fetched batch that was not taken yet, on the copy lane. Keep the
  /// result until the copy lane has finished.
  ///
  /// Shapes    features [places of rows, width]
  [[nodiscard]] Buffer take(const Tensor& features);
  /// Call it before the store closes.
  void close();

 private:
  struct Slot {
    Buffer rows;
    Event taken{Lane::copy, 0};  ///< when the copy lane has read the last rows
  };
  struct Fetched {
    std::size_t slot = 0;
    std::int64_t rows = 0;
    std::shared_ptr<const std::vector<Vertex>> places;
    Event there;
  };
  /// Where the rows of a batch are in its slot, and which kept rows are among them.
  struct InSlot {
    std::shared_ptr<const std::vector<Vertex>> places, kept;
  };
  InSlot in_slot(const WantedRows& rows) const;
  void make_room(Slot& slot, std::int64_t rows);
  Tensor numbers_for(std::int64_t rows);

  Runtime& rt_;
  FeatureStore& store_;
  Store kept_store_;  ///< the rows that this rank keeps, for itself
  std::int64_t most_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
  Buffer numbers_;       ///< rows requested from all ranks
  Buffer kept_numbers_;  ///< of this one
  std::deque<Fetched> fetched_;
};

}  // namespace orrery
