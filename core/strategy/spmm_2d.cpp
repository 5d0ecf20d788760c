// The 2D product (SUMMA): a grid of q x q ranks, rank = row·q + column, q parts of the vertices.
// Rank (i, j) holds tile (i, j) of A. It also holds the rows of part i and the j-th share of the
// columns of features, activations and gradients. To multiply, tiles of A travel along the rows of
// the grid and blocks of x along its columns, stage by stage, through two buffers.
//
// Received per product of width f: the rank's row of A without its own tile, and n·f/q less its own
// part; per dense product n·f/q along the row, less its own part.
//
// Source    CAGNET 2D
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"

namespace orrery {
namespace {

struct SquareGrid {
  int side = 1;
  int row_of(int rank) const { return rank / side; }
  int column_of(int rank) const { return rank % side; }
  Group row_group(int rank) const { return {1, row_of(rank) * side, side, 1}; }
  Group column_group(int rank) const { return {2, column_of(rank), side, side}; }
  /// First column of share k of a matrix's columns; a multiple of 8 (a draw of dropout serves eight
  /// columns), or the width.
  std::int64_t cut(std::int64_t width, int k) const {
    const std::int64_t eights = (width + 7) / 8;
    return std::min(width, 8 * ((eights * k + side - 1) / side));
  }
  Products::Columns share(std::int64_t width, int k) const {
    return {cut(width, k), cut(width, k + 1) - cut(width, k)};
  }
};

/// The structure of one rank: its tile, and what it must know of the others in its row.
struct TileRow {
  SparseMatrix own;
  std::vector<std::int64_t> nnz;  ///< of every tile of the row
};

TileRow tile_row(std::vector<SparseMatrix> tiles, int column) {
  TileRow row;
  for (const SparseMatrix& tile : tiles) row.nnz.push_back(tile.nnz());
  row.own = std::move(tiles[at(column)]);
  return row;
}

struct OwnTiles {
  TileRow forward, adjoint;  ///< no adjoint where A = Aᵀ
};

/// A row of tiles of A on the device: this rank's own, and two rooms for those that come by.
class TravellingTiles {
 public:
  TravellingTiles(Runtime& rt, const TileRow& row, std::int64_t rows, std::int64_t widest_tile,
                  std::string_view name)
      : nnz_(row.nnz),
        own_(rt, Lane::copy, row.own.pattern, fmt::format("graph/{}", name)),
        own_values_(rt, {row.own.nnz(), 1}, DType::f32, fmt::format("graph/{} values", name)) {
    rt.submit(Lane::copy, Load{values_of(row.own), own_values_.tensor()});
    const std::int64_t largest = *std::max_element(nnz_.begin(), nnz_.end());
    const std::size_t rooms = nnz_.size() > 1 ? 2 : 0;
    for (std::size_t i = 0; i < rooms; ++i) {
      rooms_.emplace_back(rt, Lane::copy, Counts{rows, widest_tile, largest, 1},
                          "scratch/tile of A that comes by");
      room_values_.emplace_back(rt, Shape{largest, 1}, DType::f32,
                                "scratch/values of a tile that comes by");
    }
    rt.wait(Lane::compute, rt.record(Lane::copy));
    rt.wait(Lane::comm, rt.record(Lane::copy));
  }

  struct Tile {
    Sparse a;
    Tensor values;
  };
  /// Where tile k of the row is while it is multiplied.
  Tile tile(int k, int own_column, Shape shape, std::size_t slot) const {
    if (k == own_column) return {own_.sparse(), own_values_.tensor()};
    const std::int64_t nnz = nnz_[at(k)];
    return {{rooms_[slot].sparse().id, shape, nnz}, room_values_[slot].view(nnz, 1)};
  }

 private:
  std::vector<std::int64_t> nnz_;
  SparseBuffer own_;
  Buffer own_values_;
  std::vector<SparseBuffer> rooms_;
  std::vector<Buffer> room_values_;
};

class Spmm2dProducts final : public RowsProducts {
 public:
  Spmm2dProducts(Runtime& rt, const PartitionedGraph& source, const SquareGrid& grid,
                 const OwnTiles& tiles, const StrategyConfig& config)
      : RowsProducts(rt, source, grid.row_of(rt.rank())),
        grid_(grid),
        i_(grid.row_of(rt.rank())),
        j_(grid.column_of(rt.rank())),
        sizes_(source.sizes()),
        overlap_(config.overlap),
        tiles_(rt, tiles.forward, rows(0), widest_part(), "tile") {
    if (!source.symmetric())
      adjoint_tiles_.emplace(rt, tiles.adjoint, rows(0), widest_part(), "tile transposed");
  }

  Columns columns(std::int64_t width) const override { return grid_.share(width, j_); }
  Group covering_group() const override { return grid_.column_group(rt_.rank()); }
  /// Every rank has a share of every weight's gradient.
  std::optional<Group> gradient_group() const override { return world_group(rt_.size()); }

  void prepare(std::int64_t widest_aggregate, std::int64_t widest) override {
    if (grid_.side == 1) return;
    for (Buffer& slot : received_) {
      // The first share is the largest, and grows with the width; the others need not.
      const std::int64_t column = widest_part() * grid_.share(widest_aggregate, 0).count;
      const std::int64_t row = rows(0) * grid_.share(widest, 0).count;
      slot = Buffer(rt_, {1, std::max(column, row)}, DType::f32, "scratch/block that comes by");
    }
  }

  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    multiply(tiles_, x, y, beta);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    multiply(adjoint_tiles_ ? *adjoint_tiles_ : tiles_, dy, dx, beta);
  }

  /// Share j of y = Σ_k x_k · w[columns k of x, columns j of y].
  void transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) override {
    const auto [first, count] = columns(w.cols());
    float keep = beta;
    along_row(x, w.rows(), [&](const Tensor& xk, const Columns& k) {
      if (k.count == 0 || count == 0) return;
      const Tensor part = w.rows_at(k.first, k.count).cols_at(first, count);
      rt_.submit(Lane::compute, Gemm{xk, part, y, false, false, keep});
      keep = 1;
    });
  }

  /// Share j of dx = Σ_k dy_k · w[columns j of x, columns k of y]ᵀ.
  void transform_adjoint(const Tensor& dy, const Tensor& w, const Tensor& dx, float beta) override {
    const auto [first, count] = columns(w.rows());
    float keep = beta;
    along_row(dy, w.cols(), [&](const Tensor& dyk, const Columns& k) {
      if (k.count == 0 || count == 0) return;
      const Tensor part = w.rows_at(first, count).cols_at(k.first, k.count);
      rt_.submit(Lane::compute, Gemm{dyk, part, dx, false, true, keep});
      keep = 1;
    });
  }

  /// Rows j of dw, from this rank's rows of x and dy: dw[columns j of x, columns k of y] = xᵀ·dy_k.
  void weight_gradient(const Tensor& x, const Tensor& dy, const Tensor& dw, bool adds) override {
    const auto [first, count] = columns(dw.rows());
    if (!adds) rt_.submit(Lane::compute, Fill{dw, 0});
    along_row(dy, dw.cols(), [&](const Tensor& dyk, const Columns& k) {
      if (k.count == 0 || count == 0) return;
      const Tensor part = dw.rows_at(first, count).cols_at(k.first, k.count);
      rt_.submit(Lane::compute, Gemm{x, dyk, part, true, false, adds ? 1.0F : 0.0F});
    });
  }

  Tensor whole_rows(const Tensor& x, std::int64_t width) override {
    if (grid_.side == 1) return x;
    if (!whole_) whole_ = Buffer(rt_, {rows(0), width}, DType::f32, "scratch/whole rows");
    along_row(x, width, [&](const Tensor& xk, const Columns& k) {
      if (k.count == 0) return;
      rt_.submit(Lane::compute, Copy{xk, whole_.tensor().cols_at(k.first, k.count)});
    });
    return whole_.tensor();
  }

 private:
  std::int64_t widest_part() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

  /// y ← Σ_k A_ik·x_kj + beta·y.
  void multiply(const TravellingTiles& tiles, const Tensor& x, const Tensor& y, float beta) {
    stages(x.cols() * grid_.side, [&](int k, std::size_t slot) {
      const std::int64_t part = sizes_[at(k)];
      const auto [a, values] = tiles.tile(k, j_, {rows(0), part}, slot);
      const Tensor xk = k == i_ ? x : received_[slot].view(part, x.cols());
      rt_.submit(Lane::comm, BroadcastSparse{a, values, k, grid_.row_group(rt_.rank())});
      rt_.submit(Lane::comm, Broadcast{xk, k, grid_.column_group(rt_.rank())});
      rt_.wait(Lane::compute, rt_.record(Lane::comm));
      if (x.cols() > 0) rt_.submit(Lane::compute, SpMM{a, values, xk, y, k == 0 ? beta : 1.0F});
    });
  }

  /// use(x_k, columns k) for every share k of a matrix of this width, from the ranks of the row.
  template <class Use>
  void along_row(const Tensor& x, std::int64_t width, const Use& use) {
    stages(width, [&](int k, std::size_t slot) {
      const Columns share = grid_.share(width, k);
      const Tensor xk = k == j_ ? x : received_[slot].view(rows(0), share.count);
      rt_.submit(Lane::comm, Broadcast{xk, k, grid_.row_group(rt_.rank())});
      rt_.wait(Lane::compute, rt_.record(Lane::comm));
      use(xk, share);
    });
  }

  /// One stage for every row or column of the grid, through two buffers: the comm lane may enter
  /// stage k when the compute lane has left stage k − 2.
  template <class Stage>
  void stages(std::int64_t width, const Stage& stage) {
    rt_.begin_product(width);
    std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)};
    for (int k = 0; k < grid_.side; ++k) {
      const std::size_t slot = at(k % 2);
      rt_.product_stage(k);
      rt_.wait(Lane::comm, overlap_ ? free[slot] : rt_.record(Lane::compute));
      stage(k, slot);
      free[slot] = rt_.record(Lane::compute);
    }
    rt_.end_product();
  }

  SquareGrid grid_;
  int i_, j_;
  const std::vector<std::int64_t>& sizes_;
  bool overlap_;
  TravellingTiles tiles_;
  std::optional<TravellingTiles> adjoint_tiles_;
  std::array<Buffer, 2> received_;
  Buffer whole_;
};

class Spmm2d final : public Strategy {
 public:
  explicit Spmm2d(const Problem& problem)
      : config_(problem.strategy),
        grid_{problem.partition.parts},
        source_(partitioned_graph(problem)),
        tiles_(problem.ranks()) {}

  std::shared_ptr<const Structure> prepare(int rank, StructureId) const override {
    return tiles_.get(rank, [&] {
      const int row = grid_.row_of(rank), column = grid_.column_of(rank);
      const auto of = [&](Direction d) { return tile_row(source_->rows(row, d), column); };
      OwnTiles tiles{of(Direction::forward),
                     source_->symmetric() ? TileRow{} : of(Direction::adjoint)};
      CutWork work;
      work.add(tiles.forward.own);
      if (!source_->symmetric()) work.add(tiles.adjoint.own);
      return make_structure(std::move(tiles), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    return std::make_unique<Spmm2dProducts>(rt, *source_, grid_, content_of<OwnTiles>(*structure),
                                            config_);
  }

 private:
  StrategyConfig config_;
  SquareGrid grid_;
  std::shared_ptr<const PartitionedGraph> source_;
  OncePerRank<std::shared_ptr<const Structure>> tiles_;
};

int side_of(int ranks) {
  const int side = static_cast<int>(std::lround(std::sqrt(ranks)));
  if (side * side == ranks) return side;
  const int below = static_cast<int>(std::sqrt(ranks));
  throw ConfigError("strategy.type",
                    fmt::format("spmm_2d needs a square number of ranks, found {}; the nearest are "
                                "{} ({} x {}) and {} ({} x {})",
                                ranks, below * below, below, below, (below + 1) * (below + 1),
                                below + 1, below + 1));
}

std::unique_ptr<Strategy> make_spmm_2d(const Problem& problem) {
  if (problem.model.type == ModelType::resgcn && problem.ranks() > 1)
    throw ConfigError(
        "model.type",
        "\"resgcn+\" has layer norms, which need whole rows, but spmm_2d splits them; "
        "use another strategy");
  if (problem.model.layer_norm && problem.ranks() > 1)
    throw ConfigError("model.layer_norm",
                      "needs whole rows, which spmm_2d splits; set it to false or use another "
                      "strategy");
  if (problem.strategy.first_layer != FirstLayer::recompute)
    throw ConfigError("strategy.first_layer", "spmm_2d aggregates the input in every epoch");
  return std::make_unique<Spmm2d>(problem);
}

}  // namespace

extern const StrategyInfo kSpmm2d;
const StrategyInfo kSpmm2d{
    .name = "spmm_2d",
    .make = make_spmm_2d,
    .parts_for = [](const StrategyConfig&, int ranks) { return side_of(ranks); },
    .ranks_for = [](const StrategyConfig&, int parts) { return parts * parts; },
    .edge_weights = true,
    .splits_columns = true,
    .sends_patterns = true,
    .closed_forms = {ClosedForm::staged_products, ClosedForm::volume_2d}};

}  // namespace orrery
