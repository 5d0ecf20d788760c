#include "core/inference/fetched_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery {

std::int64_t rows_that_fit(std::int64_t bytes, std::int64_t columns) {
  if (bytes == 0 || columns == 0) return std::numeric_limits<Vertex>::max();
  return std::max<std::int64_t>(1, bytes / (columns * bytes_of(DType::f32)));
}

FetchedRows::FetchedRows(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config,
                         int column_tiles, bool weighed)
    : rt_(rt), graphs_(graphs), config_(config), column_tiles_(column_tiles), weighed_(weighed) {}

void FetchedRows::begin(int layer, std::int64_t /*width*/, std::int64_t own) {
  own_ = own;
  if (own > 0) {
    const std::int64_t rows = rows_that_fit(config_.group_bytes, own);
    if (!graphs_.alike() || rows != rows_per_group_) load(layer, rows);
  }
  make_room(own);
}

void FetchedRows::set_out() {
  multiplied_ = own_ == 0;
  if (multiplied_) return;
  for (FetchGroup& group : groups_) group.numbers = group.rows = std::nullopt;
  const Event free = rt_.record(Lane::compute);
  for (std::size_t g = 0; g < std::min<std::size_t>(2, groups_.size()); ++g) send_numbers(g, free);
}

void FetchedRows::end() {
  for (auto* rooms : {&asked_, &sent_, &received_})
    for (Buffer& room : *rooms) room = {};
  partial_ = {};
  if (graphs_.alike()) return;
  groups_.clear();
  local_ = {};
  numbers_ = {};
  rows_per_group_ = 0;
}

FetchedRows::Block FetchedRows::load_block(const SparseMatrix& block, const IndexList* entries,
                                           int column_tiles, std::string_view name) {
  Block made;
  most_entries_ = std::max(most_entries_, block.nnz());
  if (entries == nullptr) {
    made.matrix.emplace(rt_, block, column_tiles, name);
    return made;
  }
  made.weighed.emplace(WeighedBlock{
      SparseBuffer(rt_, Lane::copy, block.pattern, fmt::format("graph/{}", name)),
      Buffer(rt_, {block.nnz(), 1}, DType::i32, fmt::format("graph/{} entries", name))});
  rt_.submit(Lane::copy, Load{entries->source(), made.weighed->entries.tensor()});
  return made;
}

void FetchedRows::load(int layer, std::int64_t rows_per_group) {
  groups_.clear();
  local_ = {};
  numbers_ = {};
  rows_per_group_ = rows_per_group;
  most_entries_ = 0;
  // Ranks of one machine cut at the same time. Of several machines each uses fewer than it has.
  const ThreadPool pool(std::max(1, available_cores() / rt_.size()));
  const PartRows cut = graphs_.cut(layer, part(), rows_per_group);
  std::optional<PartEdges> edges;
  if (weighed_) edges = edges_of(cut);
  local_ =
      load_block(cut.local, edges ? &edges->local : nullptr, column_tiles_, "rows of the part");
  numbers_ = Buffer(rt_, {cut.numbers.size(), 1}, DType::i32, "indices/rows to fetch");
  rt_.submit(Lane::copy, Load{cut.numbers.source(), numbers_.tensor()});
  std::size_t next = 0;
  for (const FetchRound& round : graphs_.rounds(layer, part(), rows_per_group)) {
    FetchGroup group;
    group.round = round;
    if (round.asked > 0) {
      ORRERY_ASSERT(next < cut.groups.size() && cut.groups[next].count == round.asked &&
                    cut.groups[next].shift == round.shift);
      const RemoteGroup& rows = cut.groups[next];
      group.first = rows.first;
      group.block =
          load_block(rows.block, edges ? &edges->groups[next] : nullptr, 1, "fetched rows");
      if (rows.rows) {
        group.rows_of_block =
            Buffer(rt_, {rows.block.rows(), 1}, DType::i32, "graph/rows of a group");
        rt_.submit(Lane::copy, Load{rows.rows->source(), group.rows_of_block.tensor()});
      }
      ++next;
    }
    groups_.push_back(std::move(group));
  }
  ORRERY_ASSERT(next == cut.groups.size());
  for (const Lane lane : {Lane::comm2, Lane::compute}) rt_.wait(lane, rt_.record(Lane::copy));
}

void FetchedRows::make_room(std::int64_t width) {
  std::int64_t asked = 0, served = 0, partial = 0;
  for (const FetchGroup& group : groups_) {
    asked = std::max(asked, group.round.asked);
    served = std::max(served, group.round.served);
    if (group.rows_of_block) partial = std::max(partial, group.rows_of_block.tensor().rows());
  }
  const std::size_t rooms = width > 0 ? std::min<std::size_t>(2, groups_.size()) : 0;
  for (std::size_t i = 0; i < rooms; ++i) {
    asked_[i] = Buffer(rt_, {served, 1}, DType::i32, "indices/rows asked for");
    sent_[i] = Buffer(rt_, {served, width}, DType::f32, "groups/rows sent");
    received_[i] = Buffer(rt_, {asked, width}, DType::f32, "groups/rows received");
  }
  if (partial > 0 && width > 0)
    partial_ = Buffer(rt_, {partial, width}, DType::f32, "scratch/rows of a group");
}

void FetchedRows::send_numbers(std::size_t g, Event free) {
  FetchGroup& group = groups_[g];
  const int parts = layout().row_parts, shift = group.round.shift;
  SendRecv message;
  message.group = layout().column_group(rt_.rank());
  if (group.round.asked > 0) {
    message.send = numbers_.tensor().rows_at(group.first, group.round.asked);
    message.to = (part() + shift) % parts;
  }
  if (group.round.served > 0) {
    message.recv = asked_[g % 2].view(group.round.served, 1);
    message.from = (part() + parts - shift) % parts;
  }
  if (!message.send && !message.recv) return;
  rt_.wait(Lane::comm2, free);
  rt_.submit(Lane::comm2, message);
  group.numbers = rt_.record(Lane::comm2);
}

Event FetchedRows::send_rows(std::size_t g, const Tensor& x) {
  FetchGroup& group = groups_[g];
  const int parts = layout().row_parts, shift = group.round.shift;
  SendRecv message;
  message.group = layout().column_group(rt_.rank());
  if (group.numbers) rt_.wait(Lane::compute, *group.numbers);
  if (group.round.served > 0) {
    message.send = sent_[g % 2].view(group.round.served, x.cols());
    message.to = (part() + parts - shift) % parts;
    rt_.submit(Lane::compute,
               GatherRows{x, asked_[g % 2].view(group.round.served, 1), *message.send});
  }
  if (group.round.asked > 0) {
    message.recv = received_[g % 2].view(group.round.asked, x.cols());
    message.from = (part() + shift) % parts;
  }
  const Event gathered = rt_.record(Lane::compute);
  if (message.send || message.recv) {
    rt_.wait(Lane::comm, gathered);
    rt_.submit(Lane::comm, message);
    group.rows = rt_.record(Lane::comm);
  }
  return gathered;
}

void FetchedRows::multiply(const Tensor& x, const Tensor& y, float beta) {
  ORRERY_ASSERT(!weighed_);
  multiply(x, y, beta, nullptr);
}

void FetchedRows::multiply(const Tensor& x, const Tensor& y, float beta, const UseBlock& use) {
  if (x.cols() == 0) return;
  // the numbers of the first groups were sent once
  ORRERY_ASSERT(!std::exchange(multiplied_, true));
  // The last event of the compute lane that read the numbers in a room, by room.
  std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)};
  if (!groups_.empty()) free[0] = send_rows(0, x);
  use_block(local_, x, y, beta, use);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (g + 1 < groups_.size()) free[(g + 1) % 2] = send_rows(g + 1, x);
    if (g + 2 < groups_.size()) send_numbers(g + 2, free[g % 2]);
    FetchGroup& group = groups_[g];
    if (group.rows) rt_.wait(Lane::compute, *group.rows);
    if (group.block) multiply_group(g, y, use);
  }
}

void FetchedRows::use_block(const Block& block, const Tensor& x, const Tensor& y, float beta,
                            const UseBlock& use) {
  if (block.matrix)
    block.matrix->multiply(rt_, x, y, beta);
  else
    use(*block.weighed, x, y, beta);
}

void FetchedRows::multiply_group(std::size_t g, const Tensor& y, const UseBlock& use) {
  const FetchGroup& group = groups_[g];
  const Tensor x = received_[g % 2].view(group.round.asked, y.cols());
  if (!group.rows_of_block) return use_block(group.block, x, y, 1, use);
  const Tensor rows = group.rows_of_block.tensor(), partial = partial_.view(rows.rows(), y.cols());
  use_block(group.block, x, partial, 0, use);
  rt_.submit(Lane::compute, ScatterAddRows{partial, rows, y});
}

}  // namespace orrery
