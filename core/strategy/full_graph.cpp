// Whole-graph training with halo exchange: each rank owns the rows of its part and, before every
// aggregation, receives each distinct row of another rank that its rows need, once. Two inexact
// forms of it receive a random share of these rows (boundary_sampled.cpp), or compute with those of
// the epoch before (stale_halo.cpp).
#include "core/strategy/full_graph.hpp"

#include "core/base/error.hpp"
#include "core/strategy/once_per_rank.hpp"
#include "core/strategy/part_source.hpp"
#include "core/strategy/rows_strategy.hpp"

namespace orrery {
namespace {

class FullGraph final : public RowsStrategy {
 public:
  FullGraph(Runtime& rt, const PartSource& source, const HaloPart& part,
            const StrategyConfig& config)
      : RowsStrategy(rt, source, rt.rank()),
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
  const HaloPart& part_;
  HaloProduct product_;
  HaloBuffers buffers_;
};

class FullGraphPlan final : public StrategyPlan {
 public:
  explicit FullGraphPlan(const Problem& problem)
      : config_(problem.strategy),
        seed_(problem.train.seed),
        source_(part_source(problem)),
        magnify_(problem.data ? problem.data->magnify : 1),
        parts_(problem.ranks()) {}

  std::unique_ptr<Strategy> instantiate(Runtime& rt, int, int) const override {
    const HaloPart& part = parts_.get(rt.rank(), [&] { return part_of(rt.rank()); });
    if (samples()) return make_boundary_sampled(rt, *source_, part, config_, seed_, magnify_);
    if (config_.staleness > 0) return make_stale_halo(rt, *source_, part, config_);
    return std::make_unique<FullGraph>(rt, *source_, part, config_);
  }

 private:
  /// Of the rows at hand, whatever number each stands for.
  bool samples() const { return config_.boundary_sampling < 1; }
  HaloPart part_of(int rank) const {
    HaloPart part = make_halo_part(*source_, rank);
    return magnify_ == 1 || samples() ? part : magnified(part, magnify_);
  }

  StrategyConfig config_;
  std::uint64_t seed_;
  std::shared_ptr<const PartSource> source_;
  std::int64_t magnify_;
  OncePerRank<HaloPart> parts_;
};

}  // namespace

std::unique_ptr<StrategyPlan> plan_full_graph(const Problem& problem) {
  if (problem.statistics)
    throw NeedsStructure(
        "full_graph: which rows each rank needs of the others stands in the edges, and "
        "dataset.statistics has none; spmm_1d, spmm_15d and spmm_2d need no more than that");
  return std::make_unique<FullGraphPlan>(problem);
}

}  // namespace orrery
