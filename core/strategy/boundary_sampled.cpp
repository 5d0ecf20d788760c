// Whole-graph training in which every epoch draws a share of each rank's halo and leaves the rest
// out.
//
// The own block stays on the device; the halo block, its transpose and the list of rows to send are
// loaded anew in every epoch (Stage::sample), in place of the last ones. So is the whole halo for
// an evaluation, outside the epoch's time.
//
// Source    Wan et al. 2022, BNS-GCN
#include "core/strategy/full_graph.hpp"
#include "core/strategy/rows_strategy.hpp"

namespace orrery {
namespace {

class BoundarySampled final : public RowsStrategy {
 public:
  BoundarySampled(Runtime& rt, const PartSource& source, const HaloPart& part,
                  const StrategyConfig& config, std::uint64_t seed, std::int64_t magnify)
      : RowsStrategy(rt, source, rt.rank()),
        drawn_from_(part),
        magnify_(magnify),
        whole_(times(part)),
        sampling_{config.boundary_sampling, seed},
        product_(rt, whole_.own_block, world_group(rt.size()), source.symmetric(), config.overlap,
                 config.column_tiles) {}

  /// As it is in the mean.
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
  void hold(const HaloPart& part) {
    buffers_ = {};
    product_.use_halo(part);
    buffers_ = HaloBuffers(rt_, part.sent(), part.received(), width_);
    held_ = &part;
  }

  HaloPart times(const HaloPart& part) const {
    return magnify_ == 1 ? part : magnified(part, magnify_);
  }

  const HaloPart& drawn_from_;
  std::int64_t magnify_;  ///< vertices that each one stands for
  HaloPart whole_;
  BoundarySampling sampling_;
  HaloPart sample_;                 ///< of this epoch
  const HaloPart* held_ = nullptr;  ///< the one that is on the device
  HaloProduct product_;
  HaloBuffers buffers_;
  std::int64_t width_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_boundary_sampled(Runtime& rt, const PartSource& source,
                                                const HaloPart& part, const StrategyConfig& config,
                                                std::uint64_t seed, std::int64_t magnify) {
  return std::make_unique<BoundarySampled>(rt, source, part, config, seed, magnify);
}

}  // namespace orrery
