// A whole network on one rank: convolutions, bias, norm, activation and dropout, forward and
// backward by hand.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/index.hpp"
#include "core/model/convolution.hpp"
#include "core/model/network/network.hpp"
#include "core/model/relation/own_weights.hpp"

namespace orrery {

/// Layer l of L: h_l = dropout(act(norm(conv_l(h_{l−1}) + b_l))); the last one is only conv + bias.
/// With a projection h_0 = dropout(x·P_t) of a vertex of type t, in the place of the input after dropout.
/// The last `dense_layers` of them have no A. With `inner_layers` conv_l of a hidden layer is one
/// with dense layers inside (nested_layer.cpp). h_0 is the input after dropout. With `residual`
/// layers 2 to L − 1, whose widths are equal, add their input: h_l = h_{l−1} + dropout(act(...)).
///
/// Memory per rank, in elements, n_l = rows(l), d_l widths (those of this rank's columns): one
/// buffer per layer, max(n_l·d_l, n_{l−1}·d_{l−1}), that holds in turn the product, the activation,
/// its gradient, and the gradient passed down; one shared scratch of max_l n·a_l, a_l the width
/// that layer l aggregates (d_{l−1} or d_l, the narrower with LayerOrder::automatic, the wider with
/// aggregate_both; 0 for a first layer that aggregates an input wider than d_1, but for the
/// latter); the aggregated input of every layer that aggregates first (not aggregate_both), and
/// n_1·d_0 where that of the first layer is kept for all epochs (neither with mggcn_compat); with input dropout a copy of the input; with a projection n_0·d_0 instead of that
/// copy, and n_0·features where features are learned; with layer norm the normalised rows of
/// each such layer, and 1/deviation of each row; with batch norm the same rows, and for their
/// columns 2·d_l + 1 sums in double and 2·d_l more, which layers share; with residual connections
/// h_l of each such layer; for GraphSAGE and dense layers one shared gradient buffer; with inner
/// layers n_l·d_l for each of them, and one shared gradient of as many. With a sparse input the
/// first layer's buffer is n_1·d_1; for inference every layer's is n_l·d_l, and there is no
/// gradient buffer. Layers that weigh edges have more memory, which gat.cpp states.
///
/// Source    the buffer scheme of MG-GCN 4.2: L + 3 with the two broadcast buffers of the 1D
///           product
class Model final : public Network {
 public:
  Model(Runtime& rt, const ModelConfig& model, const TrainConfig& train, FirstLayer first_layer,
        std::int64_t features, std::int64_t classes, ModelUse use = ModelUse::training,
        const MoreParameters& more = {});

  void attach(Products& products, const Tensor& features, const SparseInput* sparse) override;
  void detach() override;
  Tensor forward(const Tensor& features, Stage stage, int epoch,
                 std::optional<std::uint32_t> dropout_epoch) override;
  Tensor logits_gradient() const override;
  void backward(const Tensor& features, int epoch, const GradientsReady& ready) override;
  void want_features_gradient() override { learns_features_ = context_.input_gradient = true; }
  Tensor features_gradient() const override {
    return projection_ ? features_gradient_.view(rows(0), features_) : gradient_below(1);
  }
  std::optional<Tensor> embeddings(const Tensor& features) const override {
    return input(layers(), features).rows_at(0, rows(layers()));
  }
  Parameters& parameters() override { return parameters_; }

 private:
  struct Layer {
    int first_parameter = 0;
    std::unique_ptr<Convolution> convolution;
    int bias = -1, gain = -1, shift = -1;  ///< parameter numbers; −1 where there is none
    Buffer activation;                     ///< flat; see class comment
    Buffer normalised;                     ///< with a norm
    Buffer rstd;                           ///< with layer norm
    Buffer moments;                        ///< with batch norm, in training
    int averages = -1;                     ///< their number, with batch norm
    Buffer sum;                            ///< h_l of a residual layer
  };
  int layers() const { return config_.layers + config_.dense_layers; }
  bool last(int layer) const { return layer == layers(); }
  bool dense(int layer) const { return layer > config_.layers; }
  /// The rows that Products has at this level; dense layers keep the rows of the last level.
  std::int64_t rows(int level) const { return products().rows(std::min(level, config_.layers)); }
  std::int64_t inputs(int layer) const {
    return dense(layer) ? rows(layer) : products().inputs(layer);
  }
  /// Rows of a level, and those that join them in the next layer's input.
  std::int64_t room(int level) const { return last(level) ? rows(level) : inputs(level + 1); }
  bool residual(int layer) const { return config_.residual && layer > 1 && !last(layer); }
  Layer& at(int layer) { return layers_[orrery::at(layer) - 1]; }
  const Layer& at(int layer) const { return layers_[orrery::at(layer) - 1]; }
  std::int64_t width(int level) const { return widths_[orrery::at(level)]; }
  /// Columns of this rank at a level.
  std::int64_t columns(int level) const { return products().columns(width(level)).count; }
  /// This rank's columns of a parameter row [1, width].
  Tensor own_columns(const Tensor& row) const;
  /// The steps of a layer after its product, in place.
  Tensor activated(int layer) const;
  /// The kept data of a norm.
  Tensor normalised(int layer) const;
  Tensor rstd(int layer) const;
  /// h_layer, the output of a layer.
  Tensor output(int layer) const;
  /// The input of a layer's convolution.
  Tensor input(int layer, const Tensor& features) const;
  /// Where a layer writes the gradient at its input.
  Tensor gradient_below(int layer) const {
    return at(layer).activation.view(inputs(layer), columns(layer - 1));
  }
  /// Where the gradient at a layer's product is written.
  Tensor gradient_at(int layer) const;
  std::optional<Dropout> dropout(int layer) const;

  void declare_parameters();
  void allocate_buffers();
  Products& products() const { return *context_.products; }
  /// The gradients of the projection, and of the features if they are wanted.
  void project_backward(const Tensor& features, int epoch, const GradientsReady& ready);
  void finish_forward(int layer, const Tensor& y);
  /// Norms of a layer, in place; their adjoints set the gradients of gain and shift.
  void normalise_rows(int layer, const Tensor& y);
  void normalise_columns(int layer, const Tensor& y);
  void rows_backward(int layer, const Tensor& dz);
  void columns_backward(int layer, const Tensor& dz);
  /// x ← Σ over the ranks whose own vertices form the graph.
  void sum_over_vertices(const Tensor& x);
  Tensor moments(int layer) const { return at(layer).moments.view(1, 2 * width(layer) + 1); }
  void finish_backward(int layer, const Tensor& dy, const Tensor& dz);

  Runtime& rt_;
  ModelConfig config_;
  TrainConfig train_;
  bool trains_;
  std::vector<std::int64_t> widths_;  ///< d_0 .. d_L
  std::int64_t features_;             ///< columns of the input
  Parameters parameters_;
  LayerContext context_;
  std::optional<OwnWeights> projection_;
  std::vector<Layer> layers_;
  Buffer projected_, dropped_input_, gradient_;
  Buffer features_gradient_;  ///< beside a projection, if it is wanted
  bool learns_features_ = false;
  Buffer column_sums_;                          ///< for a batch norm's backward pass
  bool steps_ = false;                          ///< whether the last forward() was one of training
  std::optional<std::uint32_t> dropout_epoch_;  ///< of the last forward()
};

}  // namespace orrery
