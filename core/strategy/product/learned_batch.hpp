// A batch on a device whose features are learned.
#pragma once

#include <utility>

#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/store/learned_rows.hpp"

namespace orrery {

/// Its rows are brought when its step begins, and not when it is loaded: that is while the step
/// before still learns.
class LearnedBatchProducts final : public BatchProducts {
 public:
  /// `rows` outlives the result.
  LearnedBatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch, VertexData data,
                       const std::vector<EdgeStructure>& edges, RowExchange exchange,
                       LearnedRows& rows)
      : BatchProducts(rt, std::move(batch), std::move(data), edges),
        numbers_(rt, std::move(exchange)),
        rows_(rows) {}

  void load_features(std::int64_t, const Tensor& features) override { features_ = features; }
  void begin(Stage, int epoch) override {
    rt_.phase({Stage::load, epoch});
    rows_.bring(numbers_, features_);
  }
  void learn_features(const Tensor& gradient, int epoch, int step) override {
    rows_.learn(numbers_, gradient, epoch, step);
  }

 private:
  LearnedRows::Batch numbers_;
  LearnedRows& rows_;
  Tensor features_;
};

}  // namespace orrery
