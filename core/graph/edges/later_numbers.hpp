// Blocks whose columns are vertices until a device numbers them, and what it then makes of them.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/sparse_matrix.hpp"

namespace orrery {

/// The numbers that a device will give to the vertices of a batch: their places in a list. They are
/// found here only for whoever must know more of a block than its size.
class LaterNumbers {
 public:
  /// Requires  distinct vertices; null: they are only counted
  explicit LaterNumbers(std::shared_ptr<const std::vector<Vertex>> vertices)
      : vertices_(std::move(vertices)) {}

  /// The block with numbers in the place of vertices.
  ///
  /// Requires  real vertices, which hold all that the block names
  Csr numbered(const Csr& block) const;

 private:
  std::shared_ptr<const std::vector<Vertex>> vertices_;
  mutable std::once_flag found_;
  mutable std::unordered_map<Vertex, Vertex> numbers_;
};

/// The transpose of the numbered block, counted only; Counts::look finds it.
SparseMatrix transpose_later(const SparseMatrix& block,
                             std::shared_ptr<const LaterNumbers> numbers);

}  // namespace orrery
