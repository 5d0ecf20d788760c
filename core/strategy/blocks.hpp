// Blocks of the aggregation matrix: cut out of it by rows and columns, and multiplied on one rank.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/adjacency.hpp"
#include "core/runtime/buffer.hpp"

namespace orrery {

/// A sparse matrix in local numbers, or how large it is.
struct Block {
  Pattern pattern;
  std::shared_ptr<const std::vector<float>> values;  ///< [nnz]; none where only counts are known

  Shape shape() const;
  std::int64_t nnz() const;
  /// Errors    NeedsStructure where only counts are known
  const Csr& csr() const;
  /// What its values are loaded from.
  Source source() const;
};

/// The given rows of A, split by column into `blocks` blocks: column u becomes column local[u] of
/// block block_of[u], or is dropped where block_of[u] < 0.
///
/// Shapes    block_of, local [columns of A] · widths [blocks]: columns of each block
std::vector<Block> cut_rows(const Adjacency& a, std::span<const Vertex> rows,
                            std::span<const std::int32_t> block_of, std::span<const Vertex> local,
                            std::span<const std::int64_t> widths);

/// Counts keep their skew.
Block transpose(const Block& block);

/// So many times the rows, columns and entries, counted only; rows are as skewed as they were.
Block magnified(const Block& block, std::int64_t times);

/// A block on the device, ready to multiply, cut into column tiles of equal width so that the rows
/// of x that one tile reads stay in cache.
class LocalMatrix {
 public:
  /// Loads the block on the copy lane; the compute lane waits for it.
  LocalMatrix(Runtime& rt, const Block& block, int column_tiles, std::string_view name);

  /// y ← a·x + beta·y on the compute lane.   Shapes  x [columns, f] · y [rows, f]
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
std::vector<LocalMatrix> load_matrices(Runtime& rt, const std::vector<Block>& blocks,
                                       int column_tiles, std::string_view name);

}  // namespace orrery
