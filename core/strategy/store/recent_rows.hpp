// Which rows of other ranks a rank keeps of those that its batches needed last.
#pragma once

#include <vector>

#include "core/base/index.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// The rows of a cache whose content changes, and where they are in the memory of a FeatureStore. A
/// row stays where it was pulled to as long as it is kept, so that none is copied from place to
/// place: a new one goes where no row was kept when its batch began.
class RecentRows {
 public:
  /// `owners` outlives this.
  RecentRows(int rank, RowCache cache, const RowOwners& owners)
      : rank_(rank), cache_(std::move(cache)), owners_(owners), place_(at(cache_.slots()), kNone) {}

  /// How many rows are kept at most.
  std::int64_t slots() const { return cache_.slots(); }

  /// The rows of the next batch: each foreign one is kept already, or pulled and then kept for a
  /// while. Batches are told in the order in which they are loaded.
  ///
  /// Shapes    vertices: distinct
  WantedRows want(const std::vector<Vertex>& vertices);

 private:
  static constexpr Vertex kNone = -1;

  int rank_;
  RowCache cache_;
  const RowOwners& owners_;
  std::vector<Vertex> place_;  ///< [slots of the cache]
  std::vector<Vertex> free_;   ///< places that hold nothing that is kept
  std::int64_t room_ = 0;      ///< places there are
};

}  // namespace orrery
