// Whole-graph training with halo exchange: each rank owns the rows of its part and, before every
// aggregation, receives each distinct row of another rank that its rows need, once. Two inexact
// forms of it receive a random share of these rows (boundary_sampled.cpp), or compute with those of
// the epoch before (stale_halo.cpp).
#include "core/strategy/full_graph.hpp"

#include "core/base/error.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {
namespace {

class FullGraphProducts final : public RowsProducts {
 public:
  FullGraphProducts(Runtime& rt, const PartitionedGraph& source, const HaloStructure& part,
                    const StrategyConfig& config)
      : RowsProducts(rt, source, rt.rank()),
        part_(part),
        product_(rt, part, world_group(rt.size()), source.symmetric(), config.overlap,
                 config.column_tiles) {}

  Halo halo(int) const override { return {part_.received(), part_.sent()}; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    buffers_ = HaloBuffers(rt_, part_.sent(), part_.received(), widest_aggregate);
  }
  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    product_.multiply(x, y, beta, buffers_);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    product_.multiply_adjoint(dy, dx, beta, buffers_);
  }

 private:
  const HaloStructure& part_;
  HaloProduct product_;
  HaloBuffers buffers_;
};

class FullGraph final : public Strategy {
 public:
  explicit FullGraph(const Problem& problem)
      : config_(problem.strategy),
        seed_(problem.train.seed),
        source_(partitioned_graph(problem)),
        magnify_(problem.data ? problem.data->magnify : 1),
        parts_(problem.ranks()) {}

  std::shared_ptr<const Structure> prepare(int rank, StructureId) const override {
    return parts_.get(rank, [&] {
      HaloStructure part = part_of(rank);
      CutWork work;
      work.add(part.own_block);
      work.add(part.halo_block);
      return make_structure(std::move(part), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    const auto& part = content_of<HaloStructure>(*structure);  // kept by parts_
    if (samples()) return make_boundary_sampled(rt, *source_, part, config_, seed_, magnify_);
    if (config_.staleness > 0) return make_stale_halo(rt, *source_, part, config_);
    return std::make_unique<FullGraphProducts>(rt, *source_, part, config_);
  }

 private:
  /// Of the rows at hand, whatever number each stands for.
  bool samples() const { return config_.boundary_sampling < 1; }
  HaloStructure part_of(int rank) const {
    HaloStructure part = make_halo_structure(*source_, rank);
    return magnify_ == 1 || samples() ? part : magnified(part, magnify_);
  }

  StrategyConfig config_;
  std::uint64_t seed_;
  std::shared_ptr<const PartitionedGraph> source_;
  std::int64_t magnify_;
  OncePerRank<std::shared_ptr<const Structure>> parts_;
};

}  // namespace

std::unique_ptr<Strategy> make_full_graph(const Problem& problem) {
  if (problem.statistics)
    throw NeedsStructure(
        "full_graph: which rows each rank needs of the others stands in the edges, and "
        "dataset.statistics has none; spmm_1d, spmm_15d and spmm_2d need no more than that");
  return std::make_unique<FullGraph>(problem);
}

}  // namespace orrery
