// Whole-graph training with halo exchange: each rank owns the rows of its part and, before every
// aggregation, receives each distinct row of another rank that its rows need, once.
//
// A's rows of a rank are kept as two blocks, [own columns | halo columns], so that the own block is
// multiplied while the halo travels.
#include <algorithm>

#include "core/base/error.hpp"
#include "core/strategy/blocks.hpp"
#include "core/strategy/once_per_rank.hpp"
#include "core/strategy/part_source.hpp"
#include "core/strategy/rows_strategy.hpp"

namespace orrery {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

using RowCounts = std::shared_ptr<const std::vector<std::int64_t>>;  // per rank

/// The structure of one rank.
struct Part {
  std::int64_t halo = 0;    ///< distinct rows of other ranks, by owner, ascending within
  RowCounts receive, send;  ///< rows from and to each rank
  std::shared_ptr<const std::vector<Vertex>>
      send_rows;  ///< own local row of each row sent, by receiver
  Block own_block, halo_block;
};

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
Block join_halo(const std::vector<Block>& tiles, int rank,
                const std::vector<std::vector<Vertex>>& used) {
  const std::int64_t rows = tiles[at(rank)].shape().rows;
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
      if (j == at(rank)) continue;
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

/// What a rank receives are the columns of its rows of A that it does not own; what it sends are
/// its vertices that have an entry in another rank's rows: rows of Aᵀ with an entry in that rank's
/// columns.
Part make_part(const PartSource& source, int rank) {
  Part part;
  const auto tiles = source.rows(rank, Direction::forward);
  const auto adjoint = source.symmetric() ? tiles : source.rows(rank, Direction::adjoint);
  std::vector<std::vector<Vertex>> used(tiles.size());
  std::vector<std::int64_t> receive, send;
  std::vector<Vertex> send_rows;
  for (std::size_t j = 0; j < tiles.size(); ++j) {
    std::vector<Vertex> sent;
    if (j != at(rank)) {
      used[j] = used_columns(tiles[j].csr());
      sent = used_rows(adjoint[j].csr());
    }
    receive.push_back(static_cast<std::int64_t>(used[j].size()));
    send.push_back(static_cast<std::int64_t>(sent.size()));
    send_rows.insert(send_rows.end(), sent.begin(), sent.end());
  }
  part.own_block = tiles[at(rank)];
  part.halo_block = join_halo(tiles, rank, used);
  part.halo = part.halo_block.shape().cols;
  part.receive = std::make_shared<const std::vector<std::int64_t>>(std::move(receive));
  part.send = std::make_shared<const std::vector<std::int64_t>>(std::move(send));
  part.send_rows = std::make_shared<const std::vector<Vertex>>(std::move(send_rows));
  return part;
}

class FullGraphPlan final : public StrategyPlan {
 public:
  explicit FullGraphPlan(const Problem& problem)
      : config_(problem.strategy), source_(part_source(problem)), parts_(problem.ranks()) {}

  std::unique_ptr<Strategy> instantiate(Runtime& rt, int) const override;

 private:
  StrategyConfig config_;
  std::shared_ptr<const PartSource> source_;
  OncePerRank<Part> parts_;
};

class FullGraph final : public RowsStrategy {
 public:
  FullGraph(Runtime& rt, const PartSource& source, const Part& part, const StrategyConfig& config)
      : RowsStrategy(rt, source, rt.rank()),
        part_(part),
        overlap_(config.overlap),
        own_(rt, part.own_block, config.column_tiles, "own block"),
        halo_(rt, part.halo_block, config.column_tiles, "halo block"),
        halo_adjoint_(rt, transpose(part.halo_block), 1, "halo block transposed"),
        send_index_(rt, {send_rows(), 1}, DType::i32, "indices/rows to send") {
    // A symmetric matrix has symmetric diagonal blocks.
    if (!source.symmetric())
      own_adjoint_.emplace(rt, transpose(part.own_block), config.column_tiles,
                           "own block transposed");
    rt.submit(Lane::copy, Load{IndexArray{part.send_rows}, send_index_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
  }

  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    sent_ = Buffer(rt_, {send_rows(), widest_aggregate}, DType::f32, "halo/rows sent");
    received_ = Buffer(rt_, {halo_rows(), widest_aggregate}, DType::f32, "halo/rows received");
  }

  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    const Tensor sent = sent_.view(send_rows(), x.cols());
    const Tensor received = received_.view(halo_rows(), x.cols());
    rt_.submit(Lane::compute, GatherRows{x, send_index_.tensor(), sent});
    exchange(sent, received, part_.send, part_.receive);
    own_.multiply(rt_, x, y, beta);
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    halo_.multiply(rt_, received, y, 1);
  }

  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    const Tensor sent = sent_.view(send_rows(), dx.cols());
    const Tensor received = received_.view(halo_rows(), dx.cols());
    halo_adjoint_.multiply(rt_, dy, received, 0);
    exchange(received, sent, part_.receive, part_.send);
    (own_adjoint_ ? *own_adjoint_ : own_).multiply(rt_, dy, dx, beta);
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    rt_.submit(Lane::compute, ScatterAddRows{sent, send_index_.tensor(), dx});
  }

 private:
  std::int64_t halo_rows() const { return part_.halo; }
  std::int64_t send_rows() const { return static_cast<std::int64_t>(part_.send_rows->size()); }

  void exchange(const Tensor& from, const Tensor& to, const RowCounts& out, const RowCounts& in) {
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllToAllV{from, to, out, in, world_group(rt_.size())});
    if (!overlap_) rt_.wait(Lane::compute, rt_.record(Lane::comm));
  }

  const Part& part_;
  bool overlap_;
  LocalMatrix own_, halo_, halo_adjoint_;
  std::optional<LocalMatrix> own_adjoint_;
  Buffer send_index_, sent_, received_;
};

std::unique_ptr<Strategy> FullGraphPlan::instantiate(Runtime& rt, int) const {
  const Part& part = parts_.get(rt.rank(), [&] { return make_part(*source_, rt.rank()); });
  return std::make_unique<FullGraph>(rt, *source_, part, config_);
}

}  // namespace

std::unique_ptr<StrategyPlan> plan_full_graph(const Problem& problem) {
  if (problem.statistics)
    throw NeedsStructure(
        "full_graph: which rows each rank needs of the others stands in the edges, and "
        "dataset.statistics has none; spmm_1d, spmm_15d and spmm_2d need no more than that");
  return std::make_unique<FullGraphPlan>(problem);
}

}  // namespace orrery
