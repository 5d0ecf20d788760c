// Blocks of the aggregation matrix, cut out of it by rows and columns.
#pragma once

#include <span>
#include <vector>

#include "core/graph/sparse_matrix.hpp"

namespace orrery {

/// The given rows of A, split by column into blocks: column u becomes column local[u] of block
/// block_of[u], or is dropped if block_of[u] < 0.
///
/// Shapes    block_of, local [columns of A] · widths [blocks]: columns of each block
std::vector<SparseMatrix> cut_rows(const SparseMatrix& a, std::span<const Vertex> rows,
                                   std::span<const std::int32_t> block_of,
                                   std::span<const Vertex> local,
                                   std::span<const std::int64_t> widths);

/// Builders of blocks with this many rows, one for each width.
std::vector<RowBuilder> block_builders(std::int64_t rows, std::span<const std::int64_t> widths);

/// The blocks that the builders wrote.
std::vector<SparseMatrix> finish(std::vector<RowBuilder>& builders);

}  // namespace orrery
