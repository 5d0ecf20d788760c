// The simplified graph convolution: all products by A, and one by weights.
#pragma once

#include <array>
#include <optional>

#include "core/model/network/network.hpp"

namespace orrery {

/// logits = A·(A·(…(A·x)))·W + b with as many A as the model has layers, and no ReLU between them.
/// It multiplies by W first if that makes the aggregated rows narrower, as LayerOrder says.
/// Otherwise it keeps the aggregated input A·…·A·x for the weight gradient, which then needs no Aᵀ;
/// if x is constant, it keeps it for all epochs.
///
/// Memory per rank: two buffers of aggregated rows in turn, the logits where W comes last, and with
/// input dropout a copy of the input.
///
/// Source    Wu et al. 2019, Simplifying Graph Convolutional Networks, eq. 8
class Sgc final : public Network {
 public:
  Sgc(Runtime& rt, const ModelConfig& model, const TrainConfig& train, FirstLayer first_layer,
      std::int64_t features, std::int64_t classes, ModelUse use, const MoreParameters& more);

  void attach(Products& products, const Tensor& features, const SparseInput* sparse) override;
  void detach() override;
  Tensor forward(const Tensor& features, Stage stage, int epoch,
                 std::optional<std::uint32_t> dropout_epoch) override;
  Tensor logits_gradient() const override { return logits(); }
  void backward(const Tensor& features, int epoch, const GradientsReady& ready) override;
  void want_features_gradient() override { learns_input_ = true; }
  Tensor features_gradient() const override {
    return features_gradient_.view(products_->rows(0), columns(features_));
  }
  std::optional<Tensor> embeddings(const Tensor& /*features*/) const override {
    if (weights_first() && !keeps_aggregated()) return std::nullopt;
    return level(config_.layers, features_).rows_at(0, products_->rows(config_.layers));
  }
  Parameters& parameters() override { return parameters_; }

 private:
  bool weights_first() const { return transforms_first(config_.order, features_, classes_); }
  /// The aggregated input is computed once, in attach().
  bool keeps_aggregated() const;
  std::int64_t columns(std::int64_t width) const { return products_->columns(width).count; }
  /// Rows of a level, with those that join them in the next layer's input.
  Tensor level(int level, std::int64_t width) const;
  Tensor logits() const;
  Tensor input(const Tensor& features) const;
  /// Level `layers` ← A·…·A·x; level 0 is x if given, else its present content.
  void aggregate_all(const std::optional<Tensor>& x, std::int64_t width, Stage stage, int epoch);
  /// features_gradient() from the gradient at the logits, or at the result of the weights below
  /// them.
  void learn_input(const Tensor& gradient, int epoch);
  /// This rank's columns of a row.
  Tensor own_columns(const Tensor& row) const;

  Runtime& rt_;
  ModelConfig config_;
  TrainConfig train_;
  bool trains_, keeps_, learns_input_ = false;
  std::int64_t features_, classes_;
  Parameters parameters_;
  int weight_ = -1, bias_ = -1;
  Products* products_ = nullptr;
  Buffer dropped_input_, logits_;
  Buffer features_gradient_;                    ///< set if it is wanted
  std::array<Buffer, 2> levels_;                ///< of even and odd levels
  std::optional<std::uint32_t> dropout_epoch_;  ///< of the last forward()
};

}  // namespace orrery
