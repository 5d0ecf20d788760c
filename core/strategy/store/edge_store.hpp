// The features of edges; each row lies with the rank that EdgeRows says.
#pragma once

#include <optional>

#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/store/edge_rows.hpp"
#include "core/strategy/store/feature_store.hpp"
#include "core/strategy/store/rows_ahead.hpp"

namespace orrery {

/// One rank's access to them: its own rows in host memory, which the others read while it computes,
/// and the rows that its batches need.
///
/// Placement as EdgeRows, in host memory; the rows of a batch on the device of its rank
class EdgeStore {
 public:
  /// Reads this rank's own rows and opens them to all ranks; a collective. `ahead`: batches whose rows
  /// are fetched before they are loaded; `most`: the largest number of rows of any batch.
  EdgeStore(Runtime& rt, const EdgeRows& rows, int ahead, std::int64_t most);
  EdgeStore(const EdgeStore&) = delete;
  EdgeStore& operator=(const EdgeStore&) = delete;

  /// The rows of the next batch into host memory, on the store lane. `counted`: only their number is
  /// known.
  ///
  /// Requires  ahead > 0
  void fetch(const WantedRows& rows, bool counted);
  /// The features of a batch's edges, on the copy lane: pulled, or those of the first fetched batch
  /// that was not taken yet.
  FeaturesOfEdges bring(const WantedRows& rows);
  /// Closes the rows of all ranks; a collective.
  void close();

 private:
  Runtime& rt_;
  FeatureStore store_;
  std::optional<RowsAhead> fetched_;
};

}  // namespace orrery
