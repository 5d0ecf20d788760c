// A strategy from outside: whole-graph training in which each rank gathers the rows of all ranks
// before every product, and multiplies its own rows of A with them at once.
//
// It moves what spmm_1d moves, n·f·(P − 1)/P elements to a rank and product, in one all-gather
// instead of P broadcasts: fewer messages, no overlap, and memory for n rows on every rank.
#include "core/base/index.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace {

using namespace orrery;

/// What a rank works on: its rows of A and of Aᵀ, cut by the rank that owns the columns.
struct OwnRows {
  std::vector<SparseMatrix> forward, adjoint;
};

/// How one rank multiplies. RowsProducts answers for the rest: a rank has the rows of its part.
class GatheredProducts final : public RowsProducts {
 public:
  GatheredProducts(Runtime& rt, const PartitionedGraph& source, const OwnRows& rows,
                   int column_tiles)
      : RowsProducts(rt, source, rt.rank()),
        sizes_(std::make_shared<const std::vector<std::int64_t>>(source.sizes())),
        forward_(load_matrices(rt, rows.forward, column_tiles, "rows")),
        adjoint_(load_matrices(rt, rows.adjoint, column_tiles, "rows transposed")) {}

  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    std::int64_t all = 0;
    for (const std::int64_t size : *sizes_) all += size;
    gathered_ = Buffer(rt_, {all, widest_aggregate}, DType::f32, "scratch/rows of all ranks");
  }
  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    multiply(forward_, x, y, beta);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    multiply(adjoint_, dy, dx, beta);
  }

 private:
  void multiply(const std::vector<LocalMatrix>& rows, const Tensor& x, const Tensor& y,
                float beta) {
    const Tensor all = gathered_.view(gathered_.tensor().rows(), x.cols());
    rt_.begin_product(x.cols());
    rt_.product_stage(0);
    rt_.wait(Lane::comm, rt_.record(Lane::compute));  // x is there, the last product has read `all`
    rt_.submit(Lane::comm, AllGather{x, all, sizes_, world_group(rt_.size())});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    std::int64_t first = 0;
    for (std::size_t owner = 0; owner < rows.size(); ++owner) {
      const std::int64_t size = (*sizes_)[owner];
      rows[owner].multiply(rt_, all.rows_at(first, size), y, owner == 0 ? beta : 1.0F);
      first += size;
    }
    rt_.end_product();
  }

  std::shared_ptr<const std::vector<std::int64_t>> sizes_;  ///< rows of each rank
  std::vector<LocalMatrix> forward_, adjoint_;
  Buffer gathered_;
};

/// What the ranks of a process share.
class Gathered final : public Strategy {
 public:
  explicit Gathered(const Problem& problem)
      : column_tiles_(problem.strategy.column_tiles),
        source_(partitioned_graph(problem)),
        rows_(problem.ranks()) {}

  /// Host work alone: any thread may do it, also beside the computation of another step.
  std::shared_ptr<const Structure> prepare(int rank, StructureId) const override {
    return rows_.get(rank, [&] {
      OwnRows rows{source_->rows(rank, Direction::forward),
                   source_->rows(rank, Direction::adjoint)};
      CutWork work;
      work.add_all(rows.forward);
      work.add_all(rows.adjoint);
      return make_structure(std::move(rows), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    return std::make_unique<GatheredProducts>(rt, *source_, content_of<OwnRows>(*structure),
                                              column_tiles_);
  }

 private:
  int column_tiles_;
  std::shared_ptr<const PartitionedGraph> source_;
  OncePerRank<std::shared_ptr<const Structure>> rows_;
};

const AddStrategy added(
    {.name = "gathered",
     .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
       return std::make_unique<Gathered>(problem);
     },
     .description = "each rank gathers the rows of all ranks before every product",
     .keys = {"first_layer", "column_tiles"},
     .closed_forms = {ClosedForm::staged_products, ClosedForm::volume_1d}});

}  // namespace
