// The staged product of 1D with historical rows: what a rank receives of a layer is kept, and used
// again in the epochs in which nobody sends.
#pragma once

#include <cstdint>
#include <vector>

#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

/// One rank's products in one direction.
class CachedBroadcasts {
 public:
  /// `rows`: of each rank. `overlap` false: a block travels only when nothing is being multiplied.
  CachedBroadcasts(Runtime& rt, std::vector<std::int64_t> rows, bool overlap)
      : rt_(rt), rows_(std::move(rows)), overlap_(overlap) {}

  /// y ← Σ over ranks r of tile_r·x_r + beta·y, x_r the rows of rank r: this rank's own are x,
  /// those of the others are broadcast now where senders[r], else those that came last. In the
  /// first product of a layer all send; it takes 4 bytes for each element of the others' rows.
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
