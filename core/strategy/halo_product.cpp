#include "core/strategy/halo_product.hpp"

namespace orrery {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The columns that have an entry, ascending.
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

/// The tiles of all other ranks side by side, their used columns only.
Block join_halo(const std::vector<Block>& tiles, int index,
                const std::vector<std::vector<Vertex>>& used) {
  const std::int64_t rows = tiles[at(index)].shape().rows;
  std::vector<std::vector<Vertex>> halo_column(tiles.size());  // of each column of a tile
  auto pattern = std::make_shared<Csr>();
  for (std::size_t j = 0; j < tiles.size(); ++j) {
    halo_column[j].resize(at(tiles[j].shape().cols));
    for (const Vertex c : used[j]) halo_column[j][at(c)] = static_cast<Vertex>(pattern->cols++);
  }
  auto values = std::make_shared<std::vector<float>>();
  pattern->rows = rows;
  pattern->offsets.reserve(at(rows) + 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < tiles.size(); ++j) {
      if (j == at(index)) continue;
      const Csr& tile = tiles[j].csr();
      for (EdgeIndex e = tile.offsets[at(r)]; e < tile.offsets[at(r) + 1]; ++e) {
        pattern->columns.push_back(halo_column[j][at(tile.columns[at(e)])]);
        values->push_back((*tiles[j].values)[at(e)]);
      }
    }
    pattern->offsets.push_back(pattern->nnz());
  }
  return {std::move(pattern), std::move(values)};
}

}  // namespace

HaloPart make_halo_part(const std::vector<Block>& tiles, const std::vector<Block>& adjoint,
                        int index) {
  HaloPart part;
  std::vector<std::vector<Vertex>> used(tiles.size());
  std::vector<std::int64_t> receive, send;
  std::vector<Vertex> send_rows;
  for (std::size_t j = 0; j < tiles.size(); ++j) {
    std::vector<Vertex> sent;
    if (j != at(index)) {
      used[j] = used_columns(tiles[j].csr());
      sent = used_rows(adjoint[j].csr());
    }
    receive.push_back(static_cast<std::int64_t>(used[j].size()));
    send.push_back(static_cast<std::int64_t>(sent.size()));
    send_rows.insert(send_rows.end(), sent.begin(), sent.end());
  }
  part.own_block = tiles[at(index)];
  part.halo_block = join_halo(tiles, index, used);
  part.receive = std::make_shared<const std::vector<std::int64_t>>(std::move(receive));
  part.send = std::make_shared<const std::vector<std::int64_t>>(std::move(send));
  part.send_rows = IndexList(std::make_shared<const std::vector<Vertex>>(std::move(send_rows)));
  return part;
}

HaloPart make_halo_part(const PartSource& source, int rank) {
  const auto tiles = source.rows(rank, Direction::forward);
  if (source.symmetric()) return make_halo_part(tiles, tiles, rank);
  return make_halo_part(tiles, source.rows(rank, Direction::adjoint), rank);
}

HaloPart::RowCounts magnified(const HaloPart::RowCounts& counts, std::int64_t times) {
  std::vector<std::int64_t> more = *counts;
  for (std::int64_t& count : more) count *= times;
  return std::make_shared<const std::vector<std::int64_t>>(std::move(more));
}

HaloPart magnified(const HaloPart& part, std::int64_t times) {
  return {magnified(part.receive, times), magnified(part.send, times),
          IndexList::counted(times * part.sent()), magnified(part.own_block, times),
          magnified(part.halo_block, times)};
}

HaloProduct::HaloProduct(Runtime& rt, const Block& own_block, Group group, bool symmetric,
                         bool overlap, int column_tiles)
    : rt_(rt),
      group_(group),
      overlap_(overlap),
      column_tiles_(column_tiles),
      own_(rt, own_block, column_tiles, "own block") {
  if (!symmetric) load_own_adjoint(own_block);
}

HaloProduct::HaloProduct(Runtime& rt, const HaloPart& part, Group group, bool symmetric,
                         bool overlap, int column_tiles)
    : HaloProduct(rt, part.own_block, group, true, overlap, column_tiles) {
  use_halo(part);
  if (!symmetric) load_own_adjoint(part.own_block);
}

void HaloProduct::load_own_adjoint(const Block& own_block) {
  own_adjoint_.emplace(rt_, transpose(own_block), column_tiles_, "own block transposed");
}

void HaloProduct::use_halo(const HaloPart& part) {
  halo_.reset();  // before the next one takes memory
  part_ = &part;
  halo_ = Halo{LocalMatrix(rt_, part.halo_block, column_tiles_, "halo block"),
               LocalMatrix(rt_, transpose(part.halo_block), 1, "halo block transposed"),
               Buffer(rt_, {part.sent(), 1}, DType::i32, "indices/rows to send")};
  rt_.submit(Lane::copy, Load{part.send_rows.source(), halo_->send_index.tensor()});
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
}

void HaloProduct::multiply(const Tensor& x, const Tensor& y, float beta,
                           const HaloBuffers& buffers) const {
  const Tensor out = sent(buffers, x.cols()), in = received(buffers, x.cols());
  rt_.submit(Lane::compute, GatherRows{x, halo_->send_index.tensor(), out});
  exchange(out, in, part_->send, part_->receive);
  own_.multiply(rt_, x, y, beta);
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  halo_->block.multiply(rt_, in, y, 1);
}

void HaloProduct::multiply_adjoint(const Tensor& dy, const Tensor& dx, float beta,
                                   const HaloBuffers& buffers) const {
  const Tensor out = received(buffers, dx.cols()), in = sent(buffers, dx.cols());
  halo_->adjoint.multiply(rt_, dy, out, 0);
  exchange(out, in, part_->receive, part_->send);
  own_adjoint().multiply(rt_, dy, dx, beta);
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  rt_.submit(Lane::compute, ScatterAddRows{in, halo_->send_index.tensor(), dx});
}

void HaloProduct::multiply_stale(const Tensor& x, const Tensor& y, float beta,
                                 HaloInFlight& halo) const {
  if (!halo.arrived) {
    multiply(x, y, beta, halo.buffers);
  } else {
    const Tensor out = sent(halo.buffers, x.cols()), in = received(halo.buffers, x.cols());
    own_.multiply(rt_, x, y, beta);
    rt_.wait(Lane::compute, *halo.arrived);
    halo_->block.multiply(rt_, in, y, 1);
    rt_.submit(Lane::compute, GatherRows{x, halo_->send_index.tensor(), out});
    exchange(out, in, part_->send, part_->receive);
  }
  halo.arrived = rt_.record(Lane::comm);
}

void HaloProduct::multiply_adjoint_stale(const Tensor& dy, const Tensor& dx, float beta,
                                         HaloInFlight& halo) const {
  if (!halo.arrived) {
    multiply_adjoint(dy, dx, beta, halo.buffers);
  } else {
    const Tensor out = received(halo.buffers, dx.cols()), in = sent(halo.buffers, dx.cols());
    own_adjoint().multiply(rt_, dy, dx, beta);
    rt_.wait(Lane::compute, *halo.arrived);
    rt_.submit(Lane::compute, ScatterAddRows{in, halo_->send_index.tensor(), dx});
    halo_->adjoint.multiply(rt_, dy, out, 0);
    exchange(out, in, part_->receive, part_->send);
  }
  halo.arrived = rt_.record(Lane::comm);
}

void HaloProduct::exchange(const Tensor& from, const Tensor& to, const HaloPart::RowCounts& out,
                           const HaloPart::RowCounts& in) const {
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllToAllV{from, to, out, in, group_});
  if (!overlap_) rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

}  // namespace orrery
