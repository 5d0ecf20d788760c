#include "core/strategy/product/batch_products.hpp"

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

BatchProducts::BatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch,
                             VertexData data, FeatureStore& store)
    : RankProducts(rt),
      batch_(std::move(batch)),
      data_(std::move(data)),
      store_(store),
      row_ids_(rt, {rows(0), 1}, DType::i32, "indices/vertices") {
  rt.submit(Lane::copy, Load{vertices().source(), row_ids_.tensor()});
  rt.wait(Lane::compute, rt.record(Lane::copy));
  const SampledBatch::Layer* before = nullptr;
  for (const SampledBatch::Layer& layer : batch_->layers) {
    if (before == nullptr || before->forward.values != layer.forward.values) {
      Matrix loaded{LocalMatrix(rt, layer.forward, 1, "block"), std::nullopt};
      if (layer.adjoint) loaded.adjoint.emplace(rt, *layer.adjoint, 1, "block transposed");
      matrices_.push_back(std::move(loaded));
    }
    before = &layer;
    matrix_of_layer_.push_back(matrices_.size() - 1);
  }
}

void BatchProducts::load_features(std::int64_t first_column, const Tensor& features) {
  ORRERY_ASSERT(first_column == 0);
  places_ = store_.pull(batch_->features, features);
}

void BatchProducts::aggregate(int layer, const Tensor& x, const Tensor& y, float beta) {
  matrix(layer).forward.multiply(rt_, x, y, beta);
}

void BatchProducts::aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) {
  const Matrix& a = matrix(layer);
  ORRERY_ASSERT(a.adjoint.has_value());
  a.adjoint->multiply(rt_, dy, dx, beta);
}

}  // namespace orrery
