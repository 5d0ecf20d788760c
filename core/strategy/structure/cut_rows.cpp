#include "core/strategy/structure/cut_rows.hpp"

#include "core/base/index.hpp"

namespace orrery {

std::vector<RowBuilder> block_builders(std::int64_t rows, std::span<const std::int64_t> widths) {
  std::vector<RowBuilder> builders;
  for (const std::int64_t width : widths) builders.emplace_back(rows, width);
  return builders;
}

std::vector<SparseMatrix> finish(std::vector<RowBuilder>& builders) {
  std::vector<SparseMatrix> blocks;
  for (RowBuilder& builder : builders) blocks.push_back(builder.finish());
  return blocks;
}

std::vector<SparseMatrix> cut_rows(const SparseMatrix& a, std::span<const Vertex> rows,
                                   std::span<const std::int32_t> block_of,
                                   std::span<const Vertex> local,
                                   std::span<const std::int64_t> widths) {
  auto blocks = block_builders(static_cast<std::int64_t>(rows.size()), widths);
  const Csr& pattern = a.csr();
  for (const Vertex v : rows) {
    const auto row = pattern.row(v);
    const auto values = a.row_values(v);
    for (std::size_t e = 0; e < row.size(); ++e)
      if (const auto b = block_of[at(row[e])]; b >= 0)
        blocks[at(b)].add(local[at(row[e])], values[e]);
    for (RowBuilder& block : blocks) block.end_row();
  }
  return finish(blocks);
}

}  // namespace orrery
