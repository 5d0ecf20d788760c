#include "core/inference/exchanged_graph.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// The entries of a part's rows that meet another part, as one block with that part's numbers.
SparseMatrix block_of(const PartRows& cut, int shift, std::int64_t rows, std::int64_t columns) {
  for (const RemoteGroup& group : cut.groups) {
    if (group.shift != shift) continue;
    if (const auto* counts = std::get_if<Counts>(&group.block.pattern))
      return {Counts{rows, columns, counts->nnz, counts->skew}, nullptr};
    RowBuilder whole(rows, columns);
    const Csr& block = group.block.csr();
    std::int64_t next = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const bool there =
          group.rows ? next < block.rows && (*group.rows->numbers())[at(next)] == r : true;
      if (there) {
        const std::int64_t row = group.rows ? next++ : r;
        for (std::size_t e = 0; e < block.row(row).size(); ++e)
          whole.add((*cut.numbers.numbers())[at(group.first + block.row(row)[e])],
                    group.block.row_values(row)[e]);
      }
      whole.end_row();
    }
    return whole.finish();
  }
  return {};
}

/// Messages between parts p and p + shift form rings, in which each rank sends to one neighbour
/// while it receives from the other. Neighbouring messages take different lanes, so no rank waits
/// for a ring to come around. In a ring of odd length the last message follows the first.
Lane lane_of(int from, int shift, int parts) {
  const int length = parts / std::gcd(parts, shift);
  // The ring's first part is the smallest in it; a part's place counts the steps from there.
  int first = from, place = 0, at_part = from;
  for (int step = 1; step < length; ++step) {
    at_part = (at_part + parts - shift) % parts;
    if (at_part < first) {
      first = at_part;
      place = step;
    }
  }
  return place % 2 == 0 ? Lane::comm : Lane::comm2;
}

}  // namespace

void ExchangedGraph::begin(int layer, std::int64_t /*width*/, std::int64_t own) {
  if (own == 0) return;
  if (!loaded_ || !graphs_.alike()) load(layer);
  std::int64_t most = 0, rows = 0;
  for (const Exchange& exchange : exchanges_) {
    most = std::max(most, exchange.received);
    if (exchange.received > 0) rows = std::max(rows, layout().rows(exchange.from).count);
  }
  values_ = Buffer(rt_, {most, 1}, DType::f32, "graph/values that come");
  theirs_ = Buffer(rt_, {rows, own}, DType::f32, "groups/partial results for others");
  returned_ = Buffer(rt_, {layout().rows(part()).count, own}, DType::f32,
                     "groups/partial results from others");
}

void ExchangedGraph::end() {
  for (Buffer* room : {&values_, &theirs_, &returned_}) *room = {};
  if (graphs_.alike()) return;
  exchanges_.clear();
  local_.reset();
  loaded_ = false;
}

void ExchangedGraph::load(int layer) {
  exchanges_.clear();
  local_.reset();
  loaded_ = true;
  const PartRows cut = graphs_.cut(layer, part(), std::numeric_limits<Vertex>::max());
  local_.emplace(rt_, cut.local, column_tiles_, "rows of the part");
  const int parts = layout().row_parts;
  for (int shift = 1; shift < parts; ++shift) {
    Exchange exchange;
    exchange.to = (part() + shift) % parts;
    exchange.from = (part() + parts - shift) % parts;
    exchange.received = graphs_.entries(layer, exchange.from, part());
    if (const std::int64_t sent = graphs_.entries(layer, part(), exchange.to); sent > 0) {
      const SparseMatrix block =
          block_of(cut, shift, layout().rows(part()).count, layout().rows(exchange.to).count);
      exchange.sent = SparseBuffer(rt_, Lane::copy, block.pattern, "graph/entries for others");
      exchange.sent_values = Buffer(rt_, {sent, 1}, DType::f32, "graph/values for others");
      rt_.submit(Lane::copy, Load{values_of(block), exchange.sent_values.tensor()});
    }
    exchanges_.push_back(std::move(exchange));
  }
  const Event loaded = rt_.record(Lane::copy);
  for (const Lane lane : {Lane::comm, Lane::comm2, Lane::compute}) rt_.wait(lane, loaded);
}

Event ExchangedGraph::pass(int from, int to, const Sparse& a, const Tensor& values) {
  const int parts = layout().row_parts, m = layout().column_of(rt_.rank());
  const int a_rank = layout().rank_of(from, m), b_rank = layout().rank_of(to, m);
  const Group pair{3, std::min(a_rank, b_rank), 2, std::abs(a_rank - b_rank)};
  const Lane lane = lane_of(from, (to + parts - from) % parts, parts);
  rt_.submit(lane, BroadcastSparse{a, values, pair.index_of(a_rank), pair});
  return rt_.record(lane);
}

void ExchangedGraph::multiply(const Tensor& x, const Tensor& y, float beta) {
  if (x.cols() == 0) return;
  local_->multiply(rt_, x, y, beta);
  const Group column = layout().column_group(rt_.rank());
  for (const Exchange& exchange : exchanges_) {
    const bool sends = exchange.sent_values && exchange.sent_values.tensor().rows() > 0,
               receives = exchange.received > 0;
    const std::int64_t rows = layout().rows(exchange.from).count;
    SparseBuffer came;
    if (receives)
      came = SparseBuffer(rt_, Lane::copy, Counts{rows, x.rows(), exchange.received},
                          "graph/entries that come");
    const Tensor values = values_.view(exchange.received, 1);
    // The product before has read the room for values.
    const Event free = rt_.record(Lane::compute), declared = rt_.record(Lane::copy);
    for (const Lane lane : {Lane::comm, Lane::comm2}) {
      rt_.wait(lane, free);
      rt_.wait(lane, declared);
    }
    const auto send = [&] {
      if (sends) pass(part(), exchange.to, exchange.sent.sparse(), exchange.sent_values.tensor());
    };
    const auto receive = [&] {
      if (receives) rt_.wait(Lane::compute, pass(exchange.from, part(), came.sparse(), values));
    };
    // If both take one lane, all ranks pass the message of the smaller part first.
    if (part() < exchange.from) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    SendRecv back;
    back.group = column;
    if (receives) {
      back.send = theirs_.view(rows, x.cols());
      back.to = exchange.from;
      rt_.submit(Lane::compute, SpMM{came.sparse(), values, x, *back.send, 0});
    }
    if (sends) {
      back.recv = returned_.view(y.rows(), y.cols());
      back.from = exchange.to;
    }
    if (!back.send && !back.recv) continue;
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, back);
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    if (sends) rt_.submit(Lane::compute, Copy{*back.recv, y, 1, true});
  }
}

}  // namespace orrery
