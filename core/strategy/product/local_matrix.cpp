#include "core/strategy/product/local_matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// An equal share of the entries for every column.
Counts columns_of(Counts counts, std::int64_t first, std::int64_t last) {
  const auto before = [&, whole = counts](std::int64_t column) {
    return std::llround(static_cast<double>(whole.nnz) * static_cast<double>(column) /
                        static_cast<double>(whole.cols));
  };
  counts.nnz = before(last) - before(first);
  counts.cols = last - first;
  return counts;
}

/// The block's columns [first, last).
SparseMatrix columns_of(const SparseMatrix& block, std::int64_t first, std::int64_t last) {
  if (const auto* counts = std::get_if<Counts>(&block.pattern))
    return {columns_of(*counts, first, last), nullptr};
  const Csr& whole = block.csr();
  RowBuilder tile(whole.rows, last - first);
  for (std::int64_t r = 0; r < whole.rows; ++r) {
    const auto row = whole.row(r);
    const auto values = block.row_values(r);
    for (std::size_t e = 0; e < row.size(); ++e)
      if (row[e] >= first && row[e] < last)
        tile.add(static_cast<Vertex>(row[e] - first), values[e]);
    tile.end_row();
  }
  return tile.finish();
}

}  // namespace

Source values_of(const SparseMatrix& block) {
  return block.values ? Source(FloatArray{block.values}) : Source(Unknown{"values"});
}

LocalMatrix::LocalMatrix(Runtime& rt, const SparseMatrix& block, int column_tiles,
                         std::string_view name) {
  const std::int64_t columns = block.cols();
  const std::int64_t tiles =
      std::clamp<std::int64_t>(column_tiles, 1, std::max<std::int64_t>(1, columns));
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t first = columns * i / tiles, last = columns * (i + 1) / tiles;
    const SparseMatrix tile = tiles == 1 ? block : columns_of(block, first, last);
    Tile made{SparseBuffer(rt, Lane::copy, tile.pattern, fmt::format("graph/{}", name)),
              Buffer(rt, {tile.nnz(), 1}, DType::f32, fmt::format("graph/{} values", name)), first};
    rt.submit(Lane::copy, Load{values_of(tile), made.values.tensor()});
    tiles_.push_back(std::move(made));
  }
  rt.wait(Lane::compute, rt.record(Lane::copy));
}

std::vector<LocalMatrix> load_matrices(Runtime& rt, const std::vector<SparseMatrix>& blocks,
                                       int column_tiles, std::string_view name) {
  std::vector<LocalMatrix> matrices;
  for (const SparseMatrix& block : blocks) matrices.emplace_back(rt, block, column_tiles, name);
  return matrices;
}

void LocalMatrix::multiply(Runtime& rt, const Tensor& x, const Tensor& y, float beta) const {
  for (const Tile& tile : tiles_) {
    const Sparse& a = tile.pattern.sparse();
    const bool first = &tile == &tiles_.front();
    if (a.nnz == 0 && (!first || beta == 1)) continue;  // adds nothing
    rt.submit(Lane::compute,
              SpMM{a, tile.values.tensor(), x.rows_at(tile.first_column, a.shape.cols), y,
                   first ? beta : 1.0F});
  }
}

}  // namespace orrery
