// A batch whose features were fetched into host memory before it is loaded.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/store/rows_ahead.hpp"

namespace orrery {

class FetchedBatchProducts final : public BatchProducts {
 public:
  /// `fetched`, whose first batch this is, outlives the result.
  FetchedBatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch, VertexData data,
                       const std::vector<EdgeStructure>& edges, RowsAhead& fetched)
      : BatchProducts(rt, std::move(batch), std::move(data), edges), fetched_(fetched) {}
  void load_features(std::int64_t first_column, const Tensor& features) override {
    ORRERY_ASSERT(first_column == 0);
    places_ = fetched_.take(features);
  }

 private:
  RowsAhead& fetched_;
  Buffer places_;  ///< of the features in their slot
};

}  // namespace orrery
