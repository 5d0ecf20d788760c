// The column variant of the staged product. Each rank multiplies its own rows of x by its columns
// of A, one block of result rows after the other. Each block is summed at its owner while the next
// one is multiplied into the other of two buffers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

/// One rank's stages.
///
/// Placement x, y: rows of this rank; A: the columns of this rank, cut by the owner of the rows
class StagedReduces {
 public:
  /// `rows`: rows of each rank's block of the result. `overlap` false: nothing is multiplied while
  /// a block travels.
  StagedReduces(Runtime& rt, std::vector<std::int64_t> rows, bool overlap)
      : rt_(rt), rows_(std::move(rows)), overlap_(overlap) {}

  void prepare(std::int64_t max_width);

  /// y ← Σ over ranks r of (tile_me of r)·(x of r) + beta·y: tile_k holds this rank's columns of
  /// the rows of rank k.
  void multiply(const std::vector<LocalMatrix>& tiles, const Tensor& x, const Tensor& y,
                float beta);

 private:
  Runtime& rt_;
  std::vector<std::int64_t> rows_;
  bool overlap_;
  std::array<Buffer, 2> partial_;
};

}  // namespace orrery
