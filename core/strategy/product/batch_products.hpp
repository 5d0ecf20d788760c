// A sampled batch on a device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/product/feature_store.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// Products of one rank's batch, in which nothing travels; features are pulled from their owners and
/// gradients summed over all ranks.
class BatchProducts final : public RankProducts {
 public:
  /// `store` outlives the result; `data` has the batch's vertices.
  BatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch, VertexData data,
                FeatureStore& store);

  VertexData data() const override { return data_; }
  IndexList vertices() const override { return IndexList(batch_->vertices); }
  std::int64_t rows(int level) const override { return batch_->rows[at(level)]; }
  Tensor row_ids() const override { return row_ids_.tensor(); }
  void load_features(std::int64_t first_column, const Tensor& features) override;
  void prepare(std::int64_t, std::int64_t) override {}
  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override;
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override;

 private:
  struct Matrix {
    LocalMatrix forward;
    std::optional<LocalMatrix> adjoint;
  };
  const Matrix& matrix(int layer) const { return matrices_[matrix_of_layer_[at(layer) - 1]]; }

  std::shared_ptr<const SampledBatch> batch_;
  VertexData data_;
  FeatureStore& store_;
  Buffer row_ids_;
  Buffer places_;  ///< of the features among the rows that were pulled
  std::vector<Matrix> matrices_;
  std::vector<std::size_t> matrix_of_layer_;
};

}  // namespace orrery
