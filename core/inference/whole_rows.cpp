#include "core/inference/whole_rows.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/inference/fetched_rows.hpp"

namespace orrery {

WholeRows::Pieces WholeRows::shares_of(const TileLayout& layout, std::int64_t width) {
  Pieces pieces{width, {}};
  for (int m = 0; m < layout.column_parts; ++m) {
    const Share share = layout.columns(width, m);
    pieces.shares.push_back({{0, share.first, share.count}});
  }
  return pieces;
}

const std::vector<PieceColumns>& WholeRows::columns_of(int share) const {
  return pieces_.shares.empty() ? whole_piece_ : pieces_.shares[at(share)];
}

std::int64_t WholeRows::tile_width(int share) const {
  std::int64_t width = 0;
  for (const PieceColumns& piece : columns_of(share)) width += piece.count;
  return width;
}

WholeRows::Peer WholeRows::peer(const Group& group, int k) const {
  const int parts = layout().row_parts, ranks = layout().column_parts, m = share();
  const int to = (part() + group.shift) % parts, from = (part() + parts - group.shift) % parts;
  if (pieces_.shares.empty()) return {layout().rank_of(to, m), layout().rank_of(from, m)};
  return {layout().rank_of(to, (m + k) % ranks), layout().rank_of(from, (m + ranks - k) % ranks)};
}

void WholeRows::begin(int layer, Pieces pieces, const TakeEntries& take) {
  pieces_ = std::move(pieces);
  whole_piece_ = {{0, 0, pieces_.width}};
  const std::int64_t rows = rows_that_fit(group_bytes_, pieces_.width);
  if (!graphs_.alike() || rows != rows_per_group_) load(layer, rows, take);
  make_room();
}

void WholeRows::load(int layer, std::int64_t rows, const TakeEntries& take) {
  groups_.clear();
  rows_per_group_ = rows;
  const int parts = layout().row_parts;
  const auto groups_of = [&](std::int64_t count) { return (count + rows - 1) / rows; };
  const auto in_group = [&](std::int64_t count, std::int64_t t) {
    return std::clamp<std::int64_t>(count - t * rows, 0, rows);
  };
  const PartRows cut = graphs_.cut_wanted(layer, rt_.rank(), rows);
  take(cut);

  std::size_t asking = 0;
  for (int shift = 0; shift < parts; ++shift) {
    // Every rank passes as many groups as the rank with the most, so that all pass them together.
    std::int64_t most = 0;
    for (int rank = 0; rank < layout().ranks(); ++rank)
      most = std::max(
          most, groups_of(graphs_.wanted(layer, rank, (layout().part_of(rank) + shift) % parts)));
    for (std::int64_t t = 0; t < most; ++t) {
      Group group;
      group.shift = shift;
      group.asked = in_group(graphs_.wanted(layer, rt_.rank(), (part() + shift) % parts), t);
      if (group.asked > 0) {
        ORRERY_ASSERT(asking < cut.groups.size() && cut.groups[asking].shift == shift &&
                      cut.groups[asking].count == group.asked);
        group.first = cut.groups[asking].first;
        group.index = asking++;
      }
      for (int k = 0; k < pieces_of_row(); ++k)
        group.served.push_back(
            is_own(group, k) ? 0 : in_group(graphs_.wanted(layer, peer(group, k).from, part()), t));
      group.numbers.resize(at(pieces_of_row()));
      group.rows.resize(at(pieces_of_row()));
      groups_.push_back(std::move(group));
    }
  }
  ORRERY_ASSERT(asking == cut.groups.size());
  numbers_ = Buffer(rt_, {cut.numbers.size(), 1}, DType::i32, "indices/rows to fetch whole");
  rt_.submit(Lane::copy, Load{cut.numbers.source(), numbers_.tensor()});
  for (const Lane lane : {Lane::comm2, Lane::compute}) rt_.wait(lane, rt_.record(Lane::copy));
}

void WholeRows::make_room() {
  std::int64_t asked = 0, served = 0;
  for (const Group& group : groups_) {
    asked = std::max(asked, group.asked);
    std::int64_t sum = 0;
    for (const std::int64_t rows_of_piece : group.served) sum += rows_of_piece;
    served = std::max(served, sum);
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(2, groups_.size()); ++i) {
    asked_[i] = Buffer(rt_, {1, served}, DType::i32, "indices/rows asked for whole");
    sent_[i] = Buffer(rt_, {1, served * tile_width(share())}, DType::f32, "groups/pieces sent");
    received_[i] = Buffer(rt_, {1, asked * pieces_.width}, DType::f32, "groups/pieces received");
  }
  whole_ = Buffer(rt_, {asked, pieces_.width}, DType::f32, "groups/whole rows");
}

void WholeRows::end() {
  for (auto* rooms : {&asked_, &sent_, &received_})
    for (Buffer& buffer : *rooms) buffer = {};
  whole_ = {};
  if (graphs_.alike()) return;
  numbers_ = {};
  groups_.clear();
  rows_per_group_ = 0;
}

/// A part of a room, after this many elements.
Tensor WholeRows::room(const Buffer& buffer, std::int64_t rows, std::int64_t cols,
                       std::int64_t before) const {
  return buffer.tensor().cols_at(before, rows * cols).reshaped({rows, cols});
}

Tensor WholeRows::asked_room(std::size_t g, int k) const {
  const Group& group = groups_[g];
  std::int64_t before = 0;
  for (int i = 0; i < k; ++i) before += group.served[at(i)];
  return room(asked_[g % 2], group.served[at(k)], 1, before);
}

void WholeRows::set_out() {
  for (Group& group : groups_)
    for (auto* events : {&group.numbers, &group.rows})
      for (auto& event : *events) event.reset();
  const Event free = rt_.record(Lane::compute);
  for (std::size_t g = 0; g < std::min<std::size_t>(2, groups_.size()); ++g) send_numbers(g, free);
}

void WholeRows::send_numbers(std::size_t g, Event free) {
  Group& group = groups_[g];
  rt_.wait(Lane::comm2, free);
  for (int k = 0; k < pieces_of_row(); ++k) {
    if (is_own(group, k)) continue;
    SendRecv message;
    message.group = world_group(layout().ranks());
    const Peer other = peer(group, k);
    if (group.asked > 0 && tile_width(layout().column_of(other.to)) > 0) {
      message.send = numbers_.tensor().rows_at(group.first, group.asked);
      message.to = other.to;
    }
    if (group.served[at(k)] > 0 && tile_width(share()) > 0) {
      message.recv = asked_room(g, k);
      message.from = other.from;
    }
    if (!message.send && !message.recv) continue;
    rt_.submit(Lane::comm2, message);
    group.numbers[at(k)] = rt_.record(Lane::comm2);
  }
}

Event WholeRows::send_rows(std::size_t g, const Tensor& x) {
  Group& group = groups_[g];
  const std::int64_t own = tile_width(share());
  std::int64_t sent = 0, received = 0;
  for (int k = 0; k < pieces_of_row(); ++k) {
    if (is_own(group, k)) {
      received += group.asked * own;
      continue;
    }
    SendRecv message;
    message.group = world_group(layout().ranks());
    const Peer other = peer(group, k);
    if (group.numbers[at(k)]) rt_.wait(Lane::compute, *group.numbers[at(k)]);
    if (const std::int64_t rows = group.served[at(k)]; rows * own > 0) {
      message.send = room(sent_[g % 2], rows, own, sent);
      message.to = other.from;
      sent += rows * own;
      rt_.submit(Lane::compute, GatherRows{x, asked_room(g, k), *message.send});
    }
    const std::int64_t width = tile_width(layout().column_of(other.to));
    if (group.asked * width > 0) {
      message.recv = room(received_[g % 2], group.asked, width, received);
      message.from = other.to;
      received += group.asked * width;
    }
    if (!message.send && !message.recv) continue;
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, message);
    group.rows[at(k)] = rt_.record(Lane::comm);
  }
  return rt_.record(Lane::compute);
}

Tensor WholeRows::assemble(std::size_t g, const Tensor& x) {
  Group& group = groups_[g];
  const Tensor whole = whole_.view(group.asked, pieces_.width);
  std::int64_t received = 0;
  for (int k = 0; k < pieces_of_row(); ++k) {
    const int from = is_own(group, k) ? share() : layout().column_of(peer(group, k).to);
    const std::int64_t width = tile_width(from);
    if (group.rows[at(k)]) rt_.wait(Lane::compute, *group.rows[at(k)]);
    if (group.asked * width == 0) continue;
    const Tensor piece = room(received_[g % 2], group.asked, width, received);
    received += group.asked * width;
    if (is_own(group, k))
      rt_.submit(Lane::compute,
                 GatherRows{x, numbers_.tensor().rows_at(group.first, group.asked), piece});
    for (const PieceColumns& columns : columns_of(from))
      if (columns.count > 0)
        rt_.submit(Lane::compute, Copy{piece.cols_at(columns.tile, columns.count),
                                       whole.cols_at(columns.whole, columns.count)});
  }
  return whole;
}

void WholeRows::gather(const Tensor& x,
                       const std::function<void(std::size_t g, const Tensor& whole)>& use) {
  std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)};
  if (!groups_.empty()) free[0] = send_rows(0, x);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (g + 1 < groups_.size()) free[(g + 1) % 2] = send_rows(g + 1, x);
    if (g + 2 < groups_.size()) send_numbers(g + 2, free[g % 2]);
    for (const auto& come : groups_[g].rows)
      if (come && groups_[g].asked == 0) rt_.wait(Lane::compute, *come);
    if (groups_[g].asked > 0) use(groups_[g].index, assemble(g, x));
  }
}

}  // namespace orrery
