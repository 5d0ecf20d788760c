#include "core/strategy/edges/staged_edges.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/edges/load_indices.hpp"

namespace orrery {
namespace {

using Numbers = std::vector<Vertex>;

IndexList list(Numbers numbers) {
  return IndexList(std::make_shared<const Numbers>(std::move(numbers)));
}

/// The blocks side by side, and for each entry of each block its number in the result.
struct Joined {
  SparseMatrix whole;
  std::vector<Numbers> entries;
};

Joined join(const std::vector<SparseMatrix>& blocks) {
  const std::int64_t rows = blocks.front().rows();
  auto whole = std::make_shared<Csr>();
  whole->rows = rows;
  Joined joined{{}, std::vector<Numbers>(blocks.size())};
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t first_column = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (const Vertex c : blocks[b].csr().row(r)) {
        joined.entries[b].push_back(static_cast<Vertex>(whole->nnz()));
        whole->columns.push_back(static_cast<Vertex>(first_column + c));
      }
      first_column += blocks[b].cols();
    }
    whole->offsets.push_back(whole->nnz());
    whole->cols = first_column;
  }
  if (rows == 0)
    for (const SparseMatrix& block : blocks) whole->cols += block.cols();
  joined.whole.pattern = std::shared_ptr<const Csr>(std::move(whole));
  return joined;
}

StagedEdgeStructure::Stage stage_of(const SparseMatrix& block, Numbers entries) {
  const EdgeStructure edges = make_edge_structure(block, std::nullopt);
  Numbers by_transposed;
  for (const Vertex e : *edges.order.numbers()) by_transposed.push_back(entries[at(e)]);
  return {edges.pattern, edges.transposed, list(std::move(entries)),
          list(std::move(by_transposed))};
}

StagedEdgeStructure counted(const std::vector<SparseMatrix>& blocks, int first, int last,
                            bool numbered) {
  Counts whole{blocks.front().rows(), 0, 0, 1};
  StagedEdgeStructure edges;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto& counts = std::get<Counts>(blocks[b].pattern);
    whole.cols += counts.cols;
    whole.nnz += counts.nnz;
    whole.skew = std::max(whole.skew, counts.skew);
    if (b < at(first) || b >= at(last)) continue;
    edges.stages.push_back({counts, Counts{counts.cols, counts.rows, counts.nnz, counts.skew},
                            IndexList::counted(counts.nnz), IndexList::counted(counts.nnz)});
  }
  edges.pattern = whole;
  edges.by_source = Counts{whole.cols, whole.nnz, whole.nnz, whole.skew};
  if (numbered) edges.numbers = IndexList::counted(whole.nnz);
  return edges;
}

}  // namespace

std::int64_t StagedEdgeStructure::entries() const { return SparseMatrix{pattern, nullptr}.nnz(); }

std::int64_t StagedEdgeStructure::bytes() const {
  std::int64_t numbers_held = 2 * entries() + numbers.size();
  for (const Stage& stage : stages) numbers_held += 4 * stage.entries.size();
  return numbers_held * static_cast<std::int64_t>(sizeof(Vertex));
}

StagedEdgeStructure make_staged_edges(const std::vector<SparseMatrix>& blocks, int first, int last,
                                      const std::optional<EndVertices>& ends) {
  if (std::holds_alternative<Counts>(blocks.front().pattern))
    return counted(blocks, first, last, ends.has_value());
  Joined joined = join(blocks);
  EdgeStructure whole = make_edge_structure(joined.whole, ends);
  StagedEdgeStructure edges{whole.pattern, whole.by_source, whole.numbers, {}};
  for (int b = first; b < last; ++b)
    edges.stages.push_back(stage_of(blocks[at(b)], std::move(joined.entries[at(b)])));
  return edges;
}

StagedEdges::StagedEdges(Runtime& rt, const StagedEdgeStructure& structure, StagedLayout layout,
                         std::int64_t most_heads)
    : rt_(rt),
      layout_(std::move(layout)),
      pattern_(rt, Lane::copy, structure.pattern, "graph/edges"),
      by_source_(rt, Lane::copy, structure.by_source, "graph/edges by source"),
      rows_(std::make_shared<const std::vector<std::int64_t>>(layout_.rows)) {
  if (structure.numbers.size() > 0)
    numbers_ = load_indices(rt, structure.numbers, "graph/numbers of edges");
  else  // for a rank without edges: dropping asks for none
    numbers_ = Buffer(rt, {0, 1}, DType::i32, "graph/numbers of edges");
  std::int64_t largest = 0;
  for (const StagedEdgeStructure::Stage& stage : structure.stages) {
    stages_.push_back(
        {SparseBuffer(rt, Lane::copy, stage.pattern, "graph/edges of a block"),
         SparseBuffer(rt, Lane::copy, stage.transposed, "graph/edges of a block transposed"),
         load_indices(rt, stage.entries, "graph/numbers in a block"),
         load_indices(rt, stage.by_transposed, "graph/numbers in a block transposed")});
    largest = std::max(largest, stage.entries.size());
  }
  values_ = Buffer(rt, {largest, most_heads}, DType::f32, "scratch/weights of a block");
  rt.wait(Lane::compute, rt.record(Lane::copy));
  edges_.pattern = pattern_.sparse();
  edges_.by_source = by_source_.sparse();
  if (numbers_) edges_.numbers = numbers_.tensor();
}

std::int64_t StagedEdges::sources() const {
  return std::accumulate(layout_.rows.begin(), layout_.rows.end(), std::int64_t{0});
}

std::int64_t StagedEdges::rows_of(std::size_t stage) const {
  return layout_.rows[at(layout_.first_stage) + stage];
}

bool StagedEdges::own(std::size_t stage) const {
  return layout_.blocks.rank_of(layout_.first_stage + static_cast<int>(stage)) == rt_.rank();
}

bool StagedEdges::has_own_stage() const {
  for (std::size_t s = 0; s < stages_.size(); ++s)
    if (own(s)) return true;
  return false;
}

void StagedEdges::prepare(std::int64_t widest) {
  std::int64_t largest = 0;
  for (std::size_t s = 0; s < stages_.size(); ++s) largest = std::max(largest, rows_of(s));
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (own(s) || received_[s % 2]) continue;
    received_[s % 2] = Buffer(rt_, {largest, widest}, DType::f32, "scratch/broadcast buffer");
    partial_[s % 2] = Buffer(rt_, {largest, widest}, DType::f32, "scratch/reduce buffer");
  }
}

void StagedEdges::gather(const Tensor& own, const Tensor& all) const {
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllGather{own, all, rows_, layout_.blocks});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

void StagedEdges::sum_up(const Tensor& all, const Tensor& own) const {
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, ReduceScatter{all, own, rows_, layout_.blocks});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

Tensor StagedEdges::rows_in(std::size_t stage, const Tensor& x) const {
  return own(stage) ? x : received_[stage % 2].view(rows_of(stage), x.cols());
}

Tensor StagedEdges::values(std::size_t stage, std::int64_t heads) const {
  return values_.view(stages_[stage].pattern.sparse().nnz, heads);
}

Event StagedEdges::bring(std::size_t stage, const Tensor& x, const Event& free) {
  rt_.wait(Lane::comm, layout_.overlap ? free : rt_.record(Lane::compute));
  rt_.submit(Lane::comm, Broadcast{rows_in(stage, x), layout_.first_stage + static_cast<int>(stage),
                                   layout_.blocks});
  return rt_.record(Lane::comm);
}

void StagedEdges::sum_copies(const Tensor& x) {
  if (layout_.copies.size == 1) return;
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllReduce{x, layout_.copies});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

void StagedEdges::multiply(const Tensor& weights, const Tensor& x, const Tensor& y) {
  // A buffer is free once the second last product has read it; at first, once x is there.
  std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)};
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    const Tensor of_block = values(s, weights.cols());
    rt_.wait(Lane::compute, bring(s, x, free[s % 2]));
    rt_.submit(Lane::compute, GatherRows{weights, stage.entries.tensor(), of_block});
    rt_.submit(Lane::compute,
               SpMM{stage.pattern.sparse(), of_block, rows_in(s, x), y, s == 0 ? 0.0F : 1.0F});
    free[s % 2] = rt_.record(Lane::compute);
  }
  sum_copies(y);
}

void StagedEdges::multiply_adjoint(const Tensor& weights, const Tensor& x, const Tensor& dy,
                                   const Tensor& dweights, const Tensor& dx) {
  rt_.submit(Lane::compute, Fill{dweights, 0});
  if (!has_own_stage()) rt_.submit(Lane::compute, Fill{dx, 0});
  std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)}, arrived, summed;
  if (layout_.overlap) arrived[0] = bring(0, x, free[0]);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    const std::size_t slot = s % 2, other = (s + 1) % 2;
    if (!layout_.overlap) arrived[slot] = bring(s, x, free[slot]);
    // Before the sums of this stage; otherwise it would have to wait behind them.
    if (layout_.overlap && s + 1 < stages_.size()) arrived[other] = bring(s + 1, x, free[other]);
    rt_.wait(Lane::compute, arrived[slot]);
    if (s >= 2) rt_.wait(Lane::compute, summed[slot]);
    const Tensor in = rows_in(s, x), of_block = values(s, weights.cols());
    const Tensor out = own(s) ? dx : partial_[slot].view(rows_of(s), dx.cols());
    rt_.submit(Lane::compute, GatherRows{weights, stage.by_transposed.tensor(), of_block});
    rt_.submit(Lane::compute, SpMM{stage.transposed.sparse(), of_block, dy, out, 0});
    rt_.submit(Lane::compute, Sddmm{stage.pattern.sparse(), dy, in, of_block});
    rt_.submit(Lane::compute, ScatterAddRows{of_block, stage.entries.tensor(), dweights});
    free[slot] = rt_.record(Lane::compute);
    rt_.wait(Lane::comm, free[slot]);
    rt_.submit(Lane::comm, Reduce{out, layout_.first_stage + static_cast<int>(s), layout_.blocks});
    summed[slot] = rt_.record(Lane::comm);
    if (!layout_.overlap) rt_.wait(Lane::compute, summed[slot]);
  }
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  sum_copies(dx);
  sum_copies(dweights);
}

}  // namespace orrery
