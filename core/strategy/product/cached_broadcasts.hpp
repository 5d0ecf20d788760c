// The staged product of 1D with historical rows: a rank keeps what it receives of a layer, and uses
// it again in the epochs in which nobody sends.
#pragma once

#include <cstdint>
#include <vector>

#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

/// One rank's products in one direction.
///
/// Placement x, y: rows of this rank; cached: copies of the rows of all others
class CachedBroadcasts {
 public:
  /// `rows`: rows of each rank. `overlap` false: a block travels only while nothing is multiplied.
  CachedBroadcasts(Runtime& rt, std::vector<std::int64_t> rows, bool overlap)
      : rt_(rt), rows_(std::move(rows)), overlap_(overlap) {}

  /// y ← Σ over ranks r of tile_r·x_r + beta·y, with x_r the rows of rank r. Those of this rank are
  /// x. Those of another rank are broadcast now if senders[r], else the last ones are used. In the
  /// first product of a layer all send. It takes 4 bytes for each element of the others' rows.
  void multiply(int layer, const std::vector<bool>& senders, const std::vector<LocalMatrix>& tiles,
                const Tensor& x, const Tensor& y, float beta);

 private:
  const Buffer& cache(int layer, std::int64_t width);

  Runtime& rt_;
  std::vector<std::int64_t> rows_;
  bool overlap_;
  std::vector<Buffer> cached_;  ///< by layer: rows of the other ranks, one below the other
};

}  // namespace orrery
