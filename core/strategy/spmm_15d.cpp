// The 1.5D product: a grid of (P/c) x c ranks, rank = row·c + column. The c ranks of a row hold the
// same block of rows. Each column multiplies its share of the blocks of columns of A, which are
// broadcast within the column. The partial results are summed within the row.
//
// Received per product of width f: n·f/c − own + 2(c − 1)·n·f/P elements.
//
// Layers that weigh edges: every rank of a row weighs all edges of its rows, with numbers of all
// vertices that are gathered within its column. It multiplies those of its share of the blocks. In
// the backward pass the gradients of weights are summed within the row, too.
//
// Source    CAGNET 1.5D; MG-GCN 5.1
// Departs   the loss and the weight gradients are those of the global mean, not of local ones
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/product/staged_attention.hpp"
#include "core/strategy/product/staged_broadcasts.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {
namespace {

struct ReplicatedGrid {
  int rows = 1, columns = 1;
  int row_of(int rank) const { return rank / columns; }
  int column_of(int rank) const { return rank % columns; }
  /// The holders of copies of one block of rows.
  Group row_group(int rank) const { return {1, row_of(rank) * columns, columns, 1}; }
  /// One holder of every block.
  Group column_group(int rank) const { return {2, column_of(rank), rows, columns}; }
  /// The blocks of columns that a column of the grid multiplies: ⌊P/c²⌋ each, the last column the
  /// rest.
  int first_stage(int column) const { return column * (rows / columns); }
  int last_stage(int column) const {
    return column + 1 == columns ? rows : first_stage(column + 1);
  }
};

class Spmm15dProducts final : public RowsProducts {
 public:
  Spmm15dProducts(Runtime& rt, const PartitionedGraph& source, const ReplicatedGrid& grid,
                  const RankTiles& tiles, const StrategyConfig& config)
      : RowsProducts(rt, source, grid.row_of(rt.rank())),
        grid_(grid),
        tiles_(load_matrices(rt, tiles.forward, config.column_tiles, "tiles")),
        adjoint_tiles_(load_matrices(rt, tiles.adjoint, config.column_tiles, "tiles transposed")),
        product_(rt, grid.column_group(rt.rank()), stages(source, grid, rt.rank()),
                 config.overlap) {}

  Group covering_group() const override { return grid_.column_group(rt_.rank()); }

  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    product_.prepare(widest_aggregate);
  }
  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    multiply(tiles_, x, y, beta);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    multiply(adjoint_tiles_.empty() ? tiles_ : adjoint_tiles_, dy, dx, beta);
  }

 private:
  static std::vector<StagedBroadcasts::Stage> stages(const PartitionedGraph& source,
                                                     const ReplicatedGrid& grid, int rank) {
    std::vector<StagedBroadcasts::Stage> list;
    const int column = grid.column_of(rank);
    for (int k = grid.first_stage(column); k < grid.last_stage(column); ++k)
      list.push_back({k, source.sizes()[at(k)]});
    return list;
  }

  /// The previous y must enter the sum over the row once.
  void multiply(const std::vector<LocalMatrix>& tiles, const Tensor& x, const Tensor& y,
                float beta) {
    product_.multiply(tiles, x, y, grid_.column_of(rt_.rank()) == 0 ? beta : 0);
    if (grid_.columns == 1) return;
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllReduce{y, grid_.row_group(rt_.rank())});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
  }

  ReplicatedGrid grid_;
  std::vector<LocalMatrix> tiles_, adjoint_tiles_;
  StagedBroadcasts product_;
};

class Spmm15d final : public Strategy {
 public:
  explicit Spmm15d(const Problem& problem)
      : config_(problem.strategy),
        model_(problem.model),
        grid_{problem.partition.parts, problem.strategy.replication},
        source_(partitioned_graph(problem)),
        tiles_(problem.ranks()) {}

  std::shared_ptr<const Structure> prepare(int rank, StructureId) const override {
    return tiles_.get(rank, [&]() -> std::shared_ptr<const Structure> {
      if (weighs_edges(model_)) {
        const int column = grid_.column_of(rank);
        auto edges = staged_edges_of(*source_, grid_.row_of(rank), grid_.first_stage(column),
                                     grid_.last_stage(column), model_);
        CutWork work;
        work.add(edges.entries(), edges.bytes());
        return make_structure(std::move(edges), work.report());
      }
      RankTiles tiles{own_stages(rank, Direction::forward),
                      source_->symmetric() ? std::vector<SparseMatrix>{}
                                           : own_stages(rank, Direction::adjoint)};
      CutWork work;
      work.add_all(tiles.forward);
      work.add_all(tiles.adjoint);
      return make_structure(std::move(tiles), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    const int rank = rt.rank();
    if (weighs_edges(model_))
      return std::make_unique<StagedAttention>(
          rt, *source_, grid_.row_of(rank), content_of<StagedEdgeStructure>(*structure),
          StagedLayout{grid_.column_group(rank), grid_.row_group(rank),
                       grid_.first_stage(grid_.column_of(rank)), source_->sizes(), config_.overlap},
          model_);
    return std::make_unique<Spmm15dProducts>(rt, *source_, grid_, content_of<RankTiles>(*structure),
                                             config_);
  }

  /// Ranks in the same column of the grid, where the same blocks are multiplied.
  int representative(int rank) const override {
    if (!source_->alike()) return rank;
    const int column = grid_.column_of(rank), stage = grid_.first_stage(column);
    const int stages = grid_.last_stage(column) - stage;
    const auto kind = [&](int r) {
      const int row = grid_.row_of(r);
      return std::pair{source_->sizes()[at(row)], buffers_needed(stages, row - stage)};
    };
    int first = column;
    while (kind(first) != kind(rank)) first += grid_.columns;
    return first;
  }
  /// Ranks of a column are in different rows.
  Group own_group(const Group& group, int rank) const override {
    return group.id == grid_.row_group(rank).id ? grid_.row_group(rank) : group;
  }

 private:
  std::vector<SparseMatrix> own_stages(int rank, Direction direction) const {
    const auto row = source_->rows(grid_.row_of(rank), direction);
    const int column = grid_.column_of(rank);
    return {row.begin() + grid_.first_stage(column), row.begin() + grid_.last_stage(column)};
  }

  StrategyConfig config_;
  ModelConfig model_;
  ReplicatedGrid grid_;
  std::shared_ptr<const PartitionedGraph> source_;
  OncePerRank<std::shared_ptr<const Structure>> tiles_;
};

/// A replication c needs whole columns of the grid (c divides the ranks) and at least one stage in
/// each of them (c² <= ranks).
bool possible(int replication, int ranks) {
  return ranks % replication == 0 && static_cast<std::int64_t>(replication) * replication <= ranks;
}

int rows_of_grid(const StrategyConfig& config, int ranks) {
  const int replication = config.replication;
  if (replication >= 1 && possible(replication, ranks)) return ranks / replication;
  std::vector<int> choices;
  for (int c = 1; c * c <= ranks; ++c)
    if (possible(c, ranks)) choices.push_back(c);
  throw ConfigError("strategy.replication",
                    fmt::format("{} on {} ranks: it must divide them and its square must not "
                                "exceed them; possible with {} ranks: {}",
                                replication, ranks, ranks, fmt::join(choices, ", ")));
}

}  // namespace

extern const StrategyInfo kSpmm15d;
const StrategyInfo kSpmm15d{
    .name = "spmm_15d",
    .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
      return std::make_unique<Spmm15d>(problem);
    },
    .read =
        [](const Settings& file, StrategyConfig& config) {
          config.replication = file.integer("strategy.replication", config.replication);
        },
    .parts_for = rows_of_grid,
    .ranks_for = [](const StrategyConfig& config, int parts) { return parts * config.replication; },
    .edge_weights = true,
    .sums_over_vertices = true,
    .carries_attention = true,
    .sources_pass_by = true,
    .closed_forms = {ClosedForm::staged_products, ClosedForm::links_15d, ClosedForm::volume_15d}};

}  // namespace orrery
