// Whole-graph training in which every epoch draws a share of each rank's halo and leaves out the
// rest.
//
// The own block stays on the device. In every epoch the halo block, its transpose and the list of
// rows to send are loaded anew (Stage::sample) and replace the last ones. An evaluation loads the
// whole halo in the same way, outside of the epoch's time.
//
// Source    Wan et al. 2022, BNS-GCN
#include "core/strategy/full_graph.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {
namespace {

class BoundarySampledProducts final : public RowsProducts {
 public:
  BoundarySampledProducts(Runtime& rt, const PartitionedGraph& source, const HaloStructure& part,
                          const StrategyConfig& config, std::uint64_t seed, std::int64_t magnify)
      : RowsProducts(rt, source, rt.rank()),
        drawn_from_(part),
        magnify_(magnify),
        whole_(times(part)),
        sampling_{config.boundary_sampling, seed},
        product_(rt, whole_.own_block, world_group(rt.size()), source.symmetric(), config.overlap,
                 config.column_tiles) {}

  /// Its expected value.
  Halo halo(int) const override {
    const auto kept = [&](std::int64_t rows) {
      return static_cast<std::int64_t>(sampling_.rate * static_cast<double>(rows));
    };
    return {kept(whole_.received()), kept(whole_.sent())};
  }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override { width_ = widest_aggregate; }

  void begin(Stage stage, int epoch) override {
    if (stage == Stage::evaluate) {
      if (held_ != &whole_) hold(whole_);
      return;
    }
    rt_.phase({Stage::sample, epoch});
    sample_ = times(sample_boundary(drawn_from_, sampling_, epoch, rt_.rank()));
    hold(sample_);
  }

  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    if (held_ == nullptr) hold(whole_);  // before the first epoch
    product_.multiply(x, y, beta, buffers_);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    product_.multiply_adjoint(dy, dx, beta, buffers_);
  }

 private:
  void hold(const HaloStructure& part) {
    buffers_ = {};
    product_.use_halo(part);
    buffers_ = HaloBuffers(rt_, part.sent(), part.received(), width_);
    held_ = &part;
  }

  HaloStructure times(const HaloStructure& part) const {
    return magnify_ == 1 ? part : magnified(part, magnify_);
  }

  const HaloStructure& drawn_from_;
  std::int64_t magnify_;  ///< vertices that each vertex represents
  HaloStructure whole_;
  BoundarySampling sampling_;
  HaloStructure sample_;                 ///< of this epoch
  const HaloStructure* held_ = nullptr;  ///< the halo that is on the device
  HaloProduct product_;
  HaloBuffers buffers_;
  std::int64_t width_ = 0;
};

}  // namespace

std::unique_ptr<RankProducts> make_boundary_sampled(Runtime& rt, const PartitionedGraph& source,
                                                    const HaloStructure& part,
                                                    const StrategyConfig& config,
                                                    std::uint64_t seed, std::int64_t magnify) {
  return std::make_unique<BoundarySampledProducts>(rt, source, part, config, seed, magnify);
}

}  // namespace orrery
