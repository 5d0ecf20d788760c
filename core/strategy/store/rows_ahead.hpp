// The rows of features of batches that are fetched into host memory ahead of the batch that is loaded.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/strategy/store/feature_store.hpp"

namespace orrery {

/// Slots in pinned memory, one for each batch that is fetched and one for that which is being loaded.
/// A batch's rows come into its slot while the batches before it compute: those that are pulled, by
/// owner, and after them those that the rank keeps for the whole run.
class RowsAhead {
 public:
  /// `ahead`: batches that are fetched and not yet loaded, at most. `most`: rows that no batch exceeds.
  /// A slot has memory for a quarter more than its first batch needs, at most for all.
  ///
  /// Requires  ahead >= 1; `store`, which outlives this, keeps rows for the whole run or none
  RowsAhead(Runtime& rt, FeatureStore& store, int ahead, std::int64_t most);

  /// The next slot ← rows, on the store lane. `counted`: whether the rows of a batch are known by
  /// their number alone.
  void fetch(const WantedRows& rows, bool counted);
  /// features ← rows of the first batch that was fetched and not taken, on the copy lane. The result
  /// is to be held until the copy lane has done it.
  ///
  /// Shapes    features [places of rows, width]
  [[nodiscard]] Buffer take(const Tensor& features);
  /// Before the store closes.
  void close();

 private:
  struct Slot {
    Buffer rows;
    Event taken{Lane::copy, 0};  ///< when the copy lane has read the last ones
  };
  struct Fetched {
    std::size_t slot = 0;
    std::int64_t rows = 0;
    std::shared_ptr<const std::vector<Vertex>> places;
    Event there;
  };
  /// Where the rows of a batch are in its slot, and which of the kept ones are among them.
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
  Buffer numbers_;       ///< that are asked of all ranks
  Buffer kept_numbers_;  ///< of this one
  std::deque<Fetched> fetched_;
};

}  // namespace orrery
