#include "core/inference/tile_sddmm.hpp"

#include <algorithm>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {

Share TileSddmm::rows_of(int m) const {
  if (split_) return layout().whole_rows(part(), m);
  return {0, layout().rows(part()).count};
}

Share TileSddmm::rows() const { return rows_of(layout().column_of(rt_.rank())); }

void TileSddmm::begin(int layer, WholeRows::Pieces pieces, std::int64_t heads, bool dots) {
  const std::int64_t width = pieces.width;
  rows_.begin(layer, std::move(pieces), [&](const PartRows& wanted) {
    const PartEdges edges = edges_of(wanted);
    pattern_ = SparseBuffer(rt_, Lane::copy, edges.pattern, "graph/entries of the rank");
    blocks_.clear();
    for (std::size_t g = 0; g < wanted.groups.size(); ++g) {
      const RemoteGroup& group = wanted.groups[g];
      Block block;
      block.first = group.first;
      block.count = group.count;
      if (dots) {
        block.pattern =
            SparseBuffer(rt_, Lane::copy, group.block.pattern, "graph/entries of a group");
        block.entries = Buffer(rt_, {group.block.nnz(), 1}, DType::i32, "graph/numbers of entries");
        rt_.submit(Lane::copy, Load{edges.groups[g].source(), block.entries.tensor()});
      }
      blocks_.push_back(std::move(block));
    }
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
  });
  if (!dots) return;
  std::int64_t most = 0;
  for (const Block& block : blocks_) most = std::max(most, block.entries.tensor().rows());
  dots_ = Buffer(rt_, {most, heads}, DType::f32, "scratch/numbers of entries");
  whole_ = Buffer(rt_, {rows().count, width}, DType::f32, "scratch/whole rows of entries");
  std::int64_t widest = 0;
  for (int m = 0; m < layout().column_parts; ++m) widest = std::max(widest, rows_.tile_width(m));
  for (Buffer& piece : pieces_)
    if (layout().column_parts > 1)
      piece = Buffer(rt_, {1, rows().count * widest}, DType::f32, "scratch/pieces that come in");
}

void TileSddmm::end() {
  rows_.end();
  for (Buffer& piece : pieces_) piece = {};
  whole_ = {};
  dots_ = {};
  if (graphs_.alike()) return;
  blocks_.clear();
  pattern_ = {};
}

void TileSddmm::bring_rows(const Tensor& x) {
  const int ranks = layout().column_parts, m = layout().column_of(rt_.rank());
  const Tensor whole = whole_.tensor();
  const auto put = [&](const Tensor& piece, int share) {
    for (const PieceColumns& columns : rows_.columns_of(share))
      if (columns.count * piece.rows() > 0)
        rt_.submit(Lane::compute, Copy{piece.cols_at(columns.tile, columns.count),
                                       whole.cols_at(columns.whole, columns.count)});
  };
  std::vector<std::optional<Event>> come(at(ranks));
  const auto piece = [&](int step) {
    return pieces_[at(step % 2)].view(rows().count, rows_.tile_width((m + ranks - step) % ranks));
  };
  const auto send = [&](int step) {
    const int to = (m + step) % ranks;
    SendRecv message;
    message.group = layout().row_group(rt_.rank());
    if (const Share theirs = rows_of(to); theirs.count * x.cols() > 0) {
      message.send = x.rows_at(theirs.first, theirs.count);
      message.to = to;
    }
    if (piece(step).shape.size() > 0) {
      message.recv = piece(step);
      message.from = (m + ranks - step) % ranks;
    }
    if (!message.send && !message.recv) return;
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, message);
    come[at(step)] = rt_.record(Lane::comm);
  };
  if (ranks > 1) send(1);
  put(x.rows_at(rows().first, rows().count), m);
  for (int step = 1; step < ranks; ++step) {
    if (step + 1 < ranks) send(step + 1);
    if (come[at(step)]) rt_.wait(Lane::compute, *come[at(step)]);
    put(piece(step), (m + ranks - step) % ranks);
  }
}

void TileSddmm::multiply(const Tensor& x, const Tensor& z, const Tensor& numbers) {
  bring_rows(x);
  if (numbers.shape.size() > 0) rt_.submit(Lane::compute, Fill{numbers, 0});
  rows_.gather(z, [&](std::size_t g, const Tensor& sources) {
    const Block& block = blocks_[g];
    const Tensor dots = dots_.view(block.entries.tensor().rows(), numbers.cols());
    rt_.submit(Lane::compute, Sddmm{block.pattern.sparse(), whole_.tensor(), sources, dots});
    rt_.submit(Lane::compute, ScatterAddRows{dots, block.entries.tensor(), numbers});
  });
}

void TileSddmm::gather(const Tensor& x, const Tensor& sources) {
  rows_.gather(x, [&](std::size_t g, const Tensor& whole) {
    rt_.submit(Lane::compute, Copy{whole, sources.rows_at(blocks_[g].first, blocks_[g].count)});
  });
}

void TileSddmm::exchange(const Tensor& own, const Tensor& all) const {
  if (!exchanges()) return;
  auto entries = std::make_shared<std::vector<std::int64_t>>();
  const Share rows = layout().rows(part());
  for (int m = 0; m < layout().column_parts; ++m) {
    const Share theirs = rows_of(m);
    entries->push_back(graphs_.entries_of({rows.first + theirs.first, theirs.count}));
  }
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllGather{own, all, std::move(entries), layout().row_group(rt_.rank())});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

}  // namespace orrery
