// Whole-graph training in which each rank uses the halo rows and the halo's gradients of the epoch
// before, so that nothing waits for what travels now.
//
// Every layer keeps the rows it received last, and those it sends, in both directions: for a layer
// that aggregates at width f, 4·f·(received + sent) bytes each way. With dropout the rows were
// dropped by the mask of the epoch in which they left.
//
// Source    Wan et al. 2022, PipeGCN
// Departs   the first epoch is exact; its code starts from zeros. The smoothing of stale rows and
//           gradients (PipeGCN-F, -G) is left out
#include <vector>

#include "core/strategy/full_graph.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {
namespace {

class StaleHaloProducts final : public RowsProducts {
 public:
  StaleHaloProducts(Runtime& rt, const PartitionedGraph& source, const HaloStructure& part,
                    const StrategyConfig& config)
      : RowsProducts(rt, source, rt.rank()),
        part_(part),
        product_(rt, part_, world_group(rt.size()), source.symmetric(), config.overlap,
                 config.column_tiles) {}

  Halo halo(int) const override { return {part_.received(), part_.sent()}; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override { width_ = widest_aggregate; }
  void begin(Stage stage, int) override { trains_ = stage == Stage::forward; }
  /// Not behind what is under way for the next epoch.
  Lane metrics_lane() const override { return Lane::comm2; }

  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override {
    if (trains_) return product_.multiply_stale(x, y, beta, kept(forward_, layer, x.cols()));
    if (!exact_) exact_ = buffers(width_);
    product_.multiply(x, y, beta, *exact_);
  }
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override {
    product_.multiply_adjoint_stale(dy, dx, beta, kept(backward_, layer, dx.cols()));
  }

 private:
  HaloBuffers buffers(std::int64_t width) const {
    return HaloBuffers(rt_, part_.sent(), part_.received(), width);
  }
  HaloInFlight& kept(std::vector<HaloInFlight>& of, int layer, std::int64_t width) const {
    const auto l = static_cast<std::size_t>(layer);
    if (of.size() <= l) of.resize(l + 1);
    if (!of[l].buffers) of[l].buffers = buffers(width);
    return of[l];
  }

  const HaloStructure& part_;
  HaloProduct product_;
  std::vector<HaloInFlight> forward_, backward_;  ///< by layer
  std::optional<HaloBuffers> exact_;              ///< of what is not training
  std::int64_t width_ = 0;
  bool trains_ = false;
};

}  // namespace

std::unique_ptr<RankProducts> make_stale_halo(Runtime& rt, const PartitionedGraph& source,
                                              const HaloStructure& part,
                                              const StrategyConfig& config) {
  return std::make_unique<StaleHaloProducts>(rt, source, part, config);
}

}  // namespace orrery
