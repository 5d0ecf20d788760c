#include "core/strategy/blocks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace orrery {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

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
Block columns_of(const Block& block, std::int64_t first, std::int64_t last) {
  if (const auto* counts = std::get_if<Counts>(&block.pattern))
    return {columns_of(*counts, first, last), nullptr};
  const Csr& whole = block.csr();
  auto pattern = std::make_shared<Csr>();
  auto values = std::make_shared<std::vector<float>>();
  pattern->rows = whole.rows;
  pattern->cols = last - first;
  pattern->offsets.reserve(whole.offsets.size());
  for (std::int64_t r = 0; r < whole.rows; ++r) {
    const auto row = whole.row(r);
    const float* value = block.values->data() + whole.offsets[at(r)];
    for (std::size_t e = 0; e < row.size(); ++e)
      if (row[e] >= first && row[e] < last) {
        pattern->columns.push_back(static_cast<Vertex>(row[e] - first));
        values->push_back(value[e]);
      }
    pattern->offsets.push_back(pattern->nnz());
  }
  return {std::move(pattern), std::move(values)};
}

}  // namespace

Shape Block::shape() const {
  const auto* counts = std::get_if<Counts>(&pattern);
  return counts != nullptr ? Shape{counts->rows, counts->cols} : Shape{csr().rows, csr().cols};
}

std::int64_t Block::nnz() const {
  const auto* counts = std::get_if<Counts>(&pattern);
  return counts != nullptr ? counts->nnz : csr().nnz();
}

const Csr& Block::csr() const {
  if (std::holds_alternative<Counts>(pattern))
    throw NeedsStructure("a graph that is given by its statistics has no edges to look at");
  return *std::get<std::shared_ptr<const Csr>>(pattern);
}

Source Block::source() const {
  return values ? Source(FloatArray{values}) : Source(Unknown{"values"});
}

std::vector<Block> cut_rows(const Adjacency& a, std::span<const Vertex> rows,
                            std::span<const std::int32_t> block_of, std::span<const Vertex> local,
                            std::span<const std::int64_t> widths) {
  struct Entry {
    Vertex column;
    float value;
  };
  const std::size_t blocks = widths.size();
  std::vector<std::shared_ptr<Csr>> patterns(blocks);
  std::vector<std::shared_ptr<std::vector<float>>> values(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    patterns[b] = std::make_shared<Csr>();
    patterns[b]->rows = static_cast<std::int64_t>(rows.size());
    patterns[b]->cols = widths[b];
    patterns[b]->offsets.reserve(rows.size() + 1);
    values[b] = std::make_shared<std::vector<float>>();
  }
  std::vector<std::vector<Entry>> entries(blocks);
  for (const Vertex v : rows) {
    const auto row = a.pattern->row(v);
    const float* value = a.values->data() + a.pattern->offsets[at(v)];
    for (std::size_t e = 0; e < row.size(); ++e) {
      const auto b = block_of[at(row[e])];
      if (b >= 0) entries[at(b)].push_back({local[at(row[e])], value[e]});
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      // Local numbers ascend with the global ones in most placements; sorting what is sorted costs
      // little.
      std::sort(entries[b].begin(), entries[b].end(),
                [](const Entry& x, const Entry& y) { return x.column < y.column; });
      for (const Entry& entry : entries[b]) {
        patterns[b]->columns.push_back(entry.column);
        values[b]->push_back(entry.value);
      }
      entries[b].clear();
      patterns[b]->offsets.push_back(patterns[b]->nnz());
    }
  }
  std::vector<Block> result;
  for (std::size_t b = 0; b < blocks; ++b) result.push_back({patterns[b], values[b]});
  return result;
}

Block transpose(const Block& block) {
  if (const auto* counts = std::get_if<Counts>(&block.pattern))
    return {Counts{counts->cols, counts->rows, counts->nnz, counts->skew}, nullptr};
  const auto& pattern = std::get<std::shared_ptr<const Csr>>(block.pattern);
  const Adjacency t = transpose(Adjacency{pattern, block.values, false});
  return {t.pattern, t.values};
}

Block magnified(const Block& block, std::int64_t times) {
  Counts counts{block.shape().rows, block.shape().cols, block.nnz(), 1};
  if (const auto* known = std::get_if<Counts>(&block.pattern)) {
    counts.skew = known->skew;
  } else if (counts.nnz > 0) {
    std::int64_t longest = 0;
    for (std::int64_t r = 0; r < counts.rows; ++r)
      longest = std::max(longest, block.csr().degree(r));
    counts.skew = static_cast<double>(longest) * static_cast<double>(counts.rows) /
                  static_cast<double>(counts.nnz);
  }
  for (std::int64_t* count : {&counts.rows, &counts.cols, &counts.nnz}) *count *= times;
  return {counts, nullptr};
}

LocalMatrix::LocalMatrix(Runtime& rt, const Block& block, int column_tiles, std::string_view name) {
  const std::int64_t columns = block.shape().cols;
  const std::int64_t tiles =
      std::clamp<std::int64_t>(column_tiles, 1, std::max<std::int64_t>(1, columns));
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t first = columns * i / tiles, last = columns * (i + 1) / tiles;
    const Block tile = tiles == 1 ? block : columns_of(block, first, last);
    Tile made{SparseBuffer(rt, Lane::copy, tile.pattern, fmt::format("graph/{}", name)),
              Buffer(rt, {tile.nnz(), 1}, DType::f32, fmt::format("graph/{} values", name)), first};
    rt.submit(Lane::copy, Load{tile.source(), made.values.tensor()});
    tiles_.push_back(std::move(made));
  }
  rt.wait(Lane::compute, rt.record(Lane::copy));
}

std::vector<LocalMatrix> load_matrices(Runtime& rt, const std::vector<Block>& blocks,
                                       int column_tiles, std::string_view name) {
  std::vector<LocalMatrix> matrices;
  for (const Block& block : blocks) matrices.emplace_back(rt, block, column_tiles, name);
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
