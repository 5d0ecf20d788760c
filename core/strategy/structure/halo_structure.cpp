#include "core/strategy/structure/halo_structure.hpp"

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// The columns that have an entry, in ascending order.
std::vector<Vertex> used_columns(const Csr& a) {
  std::vector<bool> used(at(a.cols), false);
  for (const Vertex c : a.columns) used[at(c)] = true;
  std::vector<Vertex> columns;
  for (std::size_t c = 0; c < used.size(); ++c)
    if (used[c]) columns.push_back(static_cast<Vertex>(c));
  return columns;
}

std::vector<Vertex> used_rows(const Csr& a) {
  std::vector<Vertex> rows;
  for (std::int64_t r = 0; r < a.rows; ++r)
    if (a.degree(r) > 0) rows.push_back(static_cast<Vertex>(r));
  return rows;
}

/// The tiles of all other ranks side by side, with their used columns only.
SparseMatrix join_halo(const std::vector<SparseMatrix>& tiles, int index,
                       const std::vector<std::vector<Vertex>>& used) {
  std::vector<std::vector<Vertex>> halo_column(tiles.size());  // of each column of a tile
  Vertex columns = 0;
  for (std::size_t j = 0; j < tiles.size(); ++j) {
    halo_column[j].resize(at(tiles[j].cols()));
    for (const Vertex c : used[j]) halo_column[j][at(c)] = columns++;
  }
  const std::int64_t rows = tiles[at(index)].rows();
  RowBuilder halo(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < tiles.size(); ++j) {
      if (j == at(index)) continue;
      const auto row = tiles[j].csr().row(r);
      const auto values = tiles[j].row_values(r);
      for (std::size_t e = 0; e < row.size(); ++e) halo.add(halo_column[j][at(row[e])], values[e]);
    }
    halo.end_row();
  }
  return halo.finish();
}

}  // namespace

HaloStructure make_halo_structure(const std::vector<SparseMatrix>& tiles,
                                  const std::vector<SparseMatrix>& adjoint, int index) {
  HaloStructure part;
  std::vector<std::vector<Vertex>> used(tiles.size());
  std::vector<std::int64_t> receive, send;
  std::vector<Vertex> send_rows, received_rows;
  for (std::size_t j = 0; j < tiles.size(); ++j) {
    std::vector<Vertex> sent;
    if (j != at(index)) {
      used[j] = used_columns(tiles[j].csr());
      sent = used_rows(adjoint[j].csr());
    }
    receive.push_back(static_cast<std::int64_t>(used[j].size()));
    send.push_back(static_cast<std::int64_t>(sent.size()));
    send_rows.insert(send_rows.end(), sent.begin(), sent.end());
    received_rows.insert(received_rows.end(), used[j].begin(), used[j].end());
  }
  send_rows.shrink_to_fit();
  received_rows.shrink_to_fit();
  part.own_block = tiles[at(index)];
  part.halo_block = join_halo(tiles, index, used);
  part.receive = std::make_shared<const std::vector<std::int64_t>>(std::move(receive));
  part.send = std::make_shared<const std::vector<std::int64_t>>(std::move(send));
  part.send_rows = IndexList(std::make_shared<const std::vector<Vertex>>(std::move(send_rows)));
  part.received_rows =
      IndexList(std::make_shared<const std::vector<Vertex>>(std::move(received_rows)));
  return part;
}

HaloStructure make_halo_structure(const PartitionedGraph& source, int rank) {
  const auto tiles = source.rows(rank, Direction::forward);
  if (source.symmetric()) return make_halo_structure(tiles, tiles, rank);
  return make_halo_structure(tiles, source.rows(rank, Direction::adjoint), rank);
}

void keep_adjoints(HaloStructure& part, bool symmetric) {
  if (!symmetric) part.own_adjoint = transpose(part.own_block);
  part.halo_adjoint = transpose(part.halo_block);
}

HaloStructure::RowCounts magnified(const HaloStructure::RowCounts& counts, std::int64_t times) {
  std::vector<std::int64_t> more = *counts;
  for (std::int64_t& count : more) count *= times;
  return std::make_shared<const std::vector<std::int64_t>>(std::move(more));
}

HaloStructure magnified(const HaloStructure& part, std::int64_t times) {
  return {magnified(part.receive, times),          magnified(part.send, times),
          IndexList::counted(times * part.sent()), IndexList::counted(times * part.received()),
          magnified(part.own_block, times),        magnified(part.halo_block, times)};
}

}  // namespace orrery
