// The staged product of 1D and 1.5D: blocks of rows of x are broadcast in turn and multiplied as
// they arrive. Meanwhile the next block travels into the other of two buffers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

/// How many of two buffers, used in turn for this many stages, a rank needs if its own stage (an
/// index; −1: none) needs none.
int buffers_needed(int stages, int own);

/// One rank's stages.
///
/// Placement x, y: rows of this rank; x_s: on the root of stage s, and here while it is multiplied
class StagedBroadcasts {
 public:
  struct Stage {
    int root = 0;           ///< whose rows travel: an index in the group
    std::int64_t rows = 0;  ///< how many
  };
  /// `overlap` false: a block travels only while nothing is multiplied.
  StagedBroadcasts(Runtime& rt, Group group, std::vector<Stage> stages, bool overlap)
      : rt_(rt), group_(group), stages_(std::move(stages)), overlap_(overlap) {}

  /// Allocates the buffers: two (or as many as there are stages with rows of others) of the largest
  /// stage.
  void prepare(std::int64_t max_width);

  /// y ← Σ_s tile_s·x_s + beta·y, with x_s the rows of stage s; x are this rank's own.
  ///
  /// Source    MG-GCN 4.1, 4.3
  void multiply(const std::vector<LocalMatrix>& tiles, const Tensor& x, const Tensor& y,
                float beta);

 private:
  bool own(const Stage& stage) const { return group_.rank_of(stage.root) == rt_.rank(); }

  Runtime& rt_;
  Group group_;
  std::vector<Stage> stages_;
  bool overlap_;
  std::array<Buffer, 2> received_;
};

}  // namespace orrery
