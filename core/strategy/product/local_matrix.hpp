// A block of the aggregation matrix on the device.
#pragma once

#include <string_view>
#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

/// What the values of a block are loaded from.
Source values_of(const SparseMatrix& block);

/// A block on the device, ready to multiply, cut into column tiles of equal width so that the rows
/// of x that one tile reads stay in cache.
class LocalMatrix {
 public:
  /// Loads the block on the copy lane; the compute lane waits for it.
  LocalMatrix(Runtime& rt, const SparseMatrix& block, int column_tiles, std::string_view name);

  /// y ← a·x + beta·y on the compute lane.
  ///
  /// Shapes    x [columns, f] · y [rows, f]
  void multiply(Runtime& rt, const Tensor& x, const Tensor& y, float beta) const;

 private:
  struct Tile {
    SparseBuffer pattern;
    Buffer values;
    std::int64_t first_column = 0;
  };
  std::vector<Tile> tiles_;
};

/// One matrix per block.
std::vector<LocalMatrix> load_matrices(Runtime& rt, const std::vector<SparseMatrix>& blocks,
                                       int column_tiles, std::string_view name);

}  // namespace orrery
