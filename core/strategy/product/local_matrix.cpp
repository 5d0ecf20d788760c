#include "core/strategy/product/local_matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/edges/load_indices.hpp"

namespace orrery {
namespace {

/// Every column gets an equal share of the entries.
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

/// The numbers of the block's entries in columns [first, last), in the order of columns_of().
Source entries_of(const SparseMatrix& block, std::int64_t first, std::int64_t last) {
  if (std::holds_alternative<Counts>(block.pattern)) return Unknown{"indices"};
  std::vector<Vertex> entries;
  const Csr& whole = block.csr();
  for (std::size_t e = 0; e < whole.columns.size(); ++e)
    if (whole.columns[e] >= first && whole.columns[e] < last)
      entries.push_back(static_cast<Vertex>(e));
  return IndexArray{std::make_shared<const std::vector<Vertex>>(std::move(entries))};
}

/// Where each of `tiles` column tiles begins, and the end of the last. There are at most as many
/// tiles as columns.
std::vector<std::int64_t> tile_columns(std::int64_t columns, int tiles) {
  const std::int64_t number =
      std::clamp<std::int64_t>(tiles, 1, std::max<std::int64_t>(1, columns));
  std::vector<std::int64_t> first;
  for (std::int64_t i = 0; i <= number; ++i) first.push_back(columns * i / number);
  return first;
}

/// A tile's share of a product: x and beta belong to the whole product.
struct Part {
  const Sparse& a;
  std::int64_t first_column;
  bool is_first;

  /// Whether the tile changes y.
  bool matters(float beta) const { return a.nnz > 0 || (is_first && beta != 1); }
  SpMM product(const Tensor& values, const Tensor& x, const Tensor& y, float beta) const {
    return {a, values, x.rows_at(first_column, a.shape.cols), y, is_first ? beta : 1.0F};
  }
};

}  // namespace

Source values_of(const SparseMatrix& block) {
  return block.values ? Source(FloatArray{block.values}) : Source(Unknown{"values"});
}

LocalMatrix::LocalMatrix(Runtime& rt, const SparseMatrix& block, int column_tiles,
                         std::string_view name) {
  const std::vector<std::int64_t> columns = tile_columns(block.cols(), column_tiles);
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    const SparseMatrix tile =
        columns.size() == 2 ? block : columns_of(block, columns[i], columns[i + 1]);
    Tile made{SparseBuffer(rt, Lane::copy, tile.pattern, fmt::format("graph/{}", name)),
              Buffer(rt, {tile.nnz(), 1}, DType::f32, fmt::format("graph/{} values", name)),
              columns[i]};
    rt.submit(Lane::copy, Load{values_of(tile), made.values.tensor()});
    tiles_.push_back(std::move(made));
  }
  rt.wait(Lane::compute, rt.record(Lane::copy));
}

void LocalMatrix::relabel(const VertexTable& table) const {
  ORRERY_ASSERT(tiles_.size() == 1);
  table.number(tiles_.front().pattern.sparse());
}

LocalMatrix LocalMatrix::transposed(Runtime& rt, const Pattern& counts,
                                    std::string_view name) const {
  ORRERY_ASSERT(tiles_.size() == 1);
  const Tile& tile = tiles_.front();
  Tile made{
      SparseBuffer(rt, Lane::copy, counts, fmt::format("graph/{}", name)),
      Buffer(rt, tile.values.tensor().shape, DType::f32, fmt::format("graph/{} values", name)), 0};
  rt.submit(Lane::copy, TransposeSparse{tile.pattern.sparse(), tile.values.tensor(),
                                        made.pattern.sparse(), made.values.tensor()});
  rt.wait(Lane::compute, rt.record(Lane::copy));
  LocalMatrix result;
  result.tiles_.push_back(std::move(made));
  return result;
}

std::vector<LocalMatrix> load_matrices(Runtime& rt, const std::vector<SparseMatrix>& blocks,
                                       int column_tiles, std::string_view name) {
  std::vector<LocalMatrix> matrices;
  for (const SparseMatrix& block : blocks) matrices.emplace_back(rt, block, column_tiles, name);
  return matrices;
}

void LocalMatrix::multiply(Runtime& rt, const Tensor& x, const Tensor& y, float beta) const {
  for (const Tile& tile : tiles_) {
    const Part part{tile.pattern.sparse(), tile.first_column, &tile == &tiles_.front()};
    if (part.matters(beta))
      rt.submit(Lane::compute, part.product(tile.values.tensor(), x, y, beta));
  }
}

LocalRelations::LocalRelations(Runtime& rt, const RelationStructure& structure,
                               FeaturesOfEdges* features, const VertexTable* table)
    : types_(structure.types), input_types_(structure.input_types) {
  for (const RelationMatrix& relation : structure.relations) {
    OfRelation made{relation.destination, {}, {}, {}, {}};
    if (relation.edges) {
      made.edges.emplace(rt, *relation.edges,
                         features ? features->take(relation.edges->entries()) : std::nullopt);
      made.sources = load_indices(rt, relation.sources, "indices/sources of a relation");
      rt.wait(Lane::compute, rt.record(Lane::copy));
    } else if (structure.relabelled_later) {
      made.matrix.emplace(rt, relation.matrix, 1, "relation");
      ORRERY_ASSERT(table != nullptr);
      made.matrix->relabel(*table);
      made.transposed =
          made.matrix->transposed(rt, relation.transposed.pattern, "relation transposed");
    } else {
      made.matrix.emplace(rt, relation.matrix, 1, "relation");
      made.transposed.emplace(rt, relation.transposed, 1, "relation transposed");
    }
    relations_.push_back(std::move(made));
  }
}

LocalPattern::LocalPattern(Runtime& rt, const SparseMatrix& block, int column_tiles,
                           std::int64_t heads, std::string_view name) {
  if (heads < 1) throw ConfigError("heads", fmt::format("found {}, expected at least 1", heads));
  const std::vector<std::int64_t> columns = tile_columns(block.cols(), column_tiles);
  const bool tiled = columns.size() > 2;
  if (tiled && block.nnz() > std::numeric_limits<Vertex>::max())
    throw ConfigError("column_tiles",
                      fmt::format("a block of {} entries is too large to cut into tiles: use 1, "
                                  "or more ranks",
                                  block.nnz()));
  std::int64_t largest = 0;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    const SparseMatrix tile = tiled ? columns_of(block, columns[i], columns[i + 1]) : block;
    Tile made{SparseBuffer(rt, Lane::copy, tile.pattern, fmt::format("graph/{}", name)), Buffer(),
              columns[i]};
    if (tiled) {
      made.entries = Buffer(rt, {tile.nnz(), 1}, DType::i32, fmt::format("graph/{} entries", name));
      rt.submit(Lane::copy,
                Load{entries_of(block, columns[i], columns[i + 1]), made.entries.tensor()});
    }
    largest = std::max(largest, tile.nnz());
    tiles_.push_back(std::move(made));
  }
  if (tiled)
    values_ = Buffer(rt, {largest, heads}, DType::f32, fmt::format("graph/{} values", name));
  rt.wait(Lane::compute, rt.record(Lane::copy));
}

void LocalPattern::multiply(Runtime& rt, const Tensor& values, const Tensor& x, const Tensor& y,
                            float beta) const {
  for (const Tile& tile : tiles_) {
    const Part part{tile.pattern.sparse(), tile.first_column, &tile == &tiles_.front()};
    if (!part.matters(beta)) continue;
    Tensor own = values;
    if (tile.entries) {
      own = values_.view(part.a.nnz, values.cols());
      rt.submit(Lane::compute, GatherRows{values, tile.entries.tensor(), own});
    }
    rt.submit(Lane::compute, part.product(own, x, y, beta));
  }
}

}  // namespace orrery
