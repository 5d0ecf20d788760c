// Whole-graph training in which each rank uses the halo rows and the halo's gradients of the epoch
// before, so that nothing waits for what travels now.
//
// Every layer keeps the rows it received last, and those it sends, in both directions: for a layer
// that aggregates at width f, 4·f·(received + sent) bytes each way. With dropout the rows were
// dropped by the mask of the epoch in which they left. Smoothing also keeps an average of the
// incoming rows: 4·f·received bytes forward, 4·f·sent bytes back.
//
// Source    Wan et al. 2022, PipeGCN, with section 3.4's smoothing of features and gradients
// Departs   the first epoch is exact, and averages begin with what it received; its code starts
//           both from zeros
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
        smoothing_(smoothing_of(config)),
        product_(rt, part_, world_group(rt.size()), source.symmetric(), config.overlap,
                 config.column_tiles) {}

  Halo halo(int) const override { return {part_.received(), part_.sent()}; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override { width_ = widest_aggregate; }
  void begin(Stage stage, int) override { trains_ = stage == Stage::forward; }
  /// It must not wait for what is under way for the next epoch.
  Lane metrics_lane() const override { return Lane::comm2; }

  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override {
    if (trains_) return product_.multiply_stale(x, y, beta, kept_forward(layer, x.cols()));
    if (!exact_) exact_ = buffers(width_);
    product_.multiply(x, y, beta, *exact_);
  }
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override {
    product_.multiply_adjoint_stale(dy, dx, beta, kept_backward(layer, dx.cols()));
  }

 private:
  HaloBuffers buffers(std::int64_t width) const {
    return HaloBuffers(rt_, part_.sent(), part_.received(), width);
  }
  HaloInFlight& kept_forward(int layer, std::int64_t width) {
    return kept(forward_, layer, width, smoothing_.features, part_.received());
  }
  HaloInFlight& kept_backward(int layer, std::int64_t width) {
    return kept(backward_, layer, width, smoothing_.gradients, part_.sent());
  }
  HaloInFlight& kept(std::vector<HaloInFlight>& of, int layer, std::int64_t width, double smoothing,
                     std::int64_t rows_in) const {
    const auto l = static_cast<std::size_t>(layer);
    if (of.size() <= l) of.resize(l + 1);
    if (of[l].buffers) return of[l];
    of[l].buffers = buffers(width);
    of[l].smoothing = static_cast<float>(smoothing);
    if (smoothing > 0)
      of[l].average = Buffer(rt_, {rows_in, width}, DType::f32, "halo/average of rows received");
    return of[l];
  }
  static StaleSmoothing smoothing_of(const StrategyConfig& config) {
    const auto* set = std::any_cast<StaleSmoothing>(&config.own);
    return set != nullptr ? *set : StaleSmoothing{};
  }

  const HaloStructure& part_;
  StaleSmoothing smoothing_;
  HaloProduct product_;
  std::vector<HaloInFlight> forward_, backward_;  ///< by layer
  std::optional<HaloBuffers> exact_;              ///< rows of passes that are not training
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
