// Which rows of other ranks a rank keeps, of those that its batches needed last.
#pragma once

#include <vector>

#include "core/base/index.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// The rows of a cache whose content changes, and where they are in the memory of a FeatureStore. A
/// row stays where it was pulled to as long as it is kept, so no row is copied. A new row goes to a
/// place that held no kept row when its batch began.
class RecentRows {
 public:
  /// `owners` must outlive this.
  RecentRows(int rank, RowCache cache, const RowOwners& owners)
      : rank_(rank), cache_(std::move(cache)), owners_(owners), place_(at(cache_.slots()), kNone) {}

  /// Largest number of kept rows.
  std::int64_t slots() const { return cache_.slots(); }

  /// The rows of the next batch: each foreign row is either kept already, or pulled and then kept
  /// for a while. Batches must come in the order in which they are loaded.
  ///
  /// Shapes    vertices: distinct
  WantedRows want(const std::vector<Vertex>& vertices);

 private:
  static constexpr Vertex kNone = -1;

  int rank_;
  RowCache cache_;
  const RowOwners& owners_;
  std::vector<Vertex> place_;  ///< [slots of the cache]
  std::vector<Vertex> free_;   ///< places without a kept row
  std::int64_t room_ = 0;      ///< number of places
};

}  // namespace orrery
