// ResGCN+: deep networks of pre-activated residual blocks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/index.hpp"
#include "core/model/convolution.hpp"
#include "core/model/network/network.hpp"

namespace orrery {

/// h_0 = x·W_e + b_e; blocks l = 1..L: u_l = dropout(ReLU(norm_l(h_{l−1}))), h_l = h_{l−1} +
/// conv_l(u_l) + b_l; logits = dropout(ReLU(norm(h_L)))·W_h + b_h. conv is GraphSAGE's: two
/// weights, of a vertex and of the mean of its in-neighbours; norm is a layer norm.
///
/// With `recompute` = k the blocks are cut into segments of k. Every segment but the last keeps
/// only its h. When the backward pass comes to it, its blocks are computed again with the same
/// draws, including their aggregations, which communicate.
///
/// Memory per rank, in elements, n = rows of the largest input, d = hidden, K = min(k, L) blocks
/// (all of them without recompute), n_l those of block l's input: Σ_K (2·n_l·d + n_l), as much for
/// the head with n_L; n·d each for h, what passes through a block, and scratch; n_L·classes; with
/// recompute n·d more for each segment but the last, and for the gradient. For inference K = 1, with
/// nothing for recompute.
///
/// Source    Li, Xiong, Thabet, Ghanem 2020 (DeeperGCN, "res+"); the convolution as in GraNNDis'
///           public code
/// Departs   the head has a norm of its own, where that code uses the first block's once more;
///           weights start as all others here (Glorot)
class ResGcn final : public Network {
 public:
  ResGcn(Runtime& rt, const ModelConfig& model, const TrainConfig& train, std::int64_t features,
         std::int64_t classes, ModelUse use = ModelUse::training, const MoreParameters& more = {});

  void attach(Products& products, const Tensor& features, const SparseInput* sparse) override;
  void detach() override;
  Tensor forward(const Tensor& features, Stage stage, int epoch,
                 std::optional<std::uint32_t> dropout_epoch) override;
  Tensor logits_gradient() const override { return logits(); }
  void backward(const Tensor& features, int epoch, const GradientsReady& ready) override;
  void want_features_gradient() override { context_.input_gradient = true; }
  Tensor features_gradient() const override { return features_gradient_.view(rows(0), features_); }
  std::optional<Tensor> embeddings(const Tensor& /*features*/) const override {
    return head_kept_.activated.view(rows(layers()), config_.hidden);
  }
  Parameters& parameters() override { return parameters_; }

 private:
  struct Norm {
    int gain = -1, shift = -1;  ///< parameter numbers
  };
  struct Linear {
    int weight = -1, bias = -1;  ///< bias −1: none
  };
  struct Block {
    Norm norm;
    std::unique_ptr<Convolution> convolution;
    int bias = -1;
  };
  /// What the backward pass needs of a norm with its ReLU and dropout.
  struct Kept {
    Buffer activated, normalised, rstd;
  };

  int layers() const { return config_.layers; }
  int segment() const { return config_.recompute > 0 ? config_.recompute : layers(); }
  bool last_segment(int layer) const {
    return (layer - 1) / segment() == (layers() - 1) / segment();
  }
  bool first_of_segment(int layer) const { return (layer - 1) % segment() == 0; }
  Block& at(int layer) { return blocks_[orrery::at(layer) - 1]; }
  /// The place of its block's data; for inference one place serves all.
  std::size_t slot(int layer) const {
    return trains_ ? orrery::at((layer - 1) % segment()) : std::size_t{0};
  }
  const Kept& kept(int layer) const { return kept_[slot(layer)]; }
  /// The h at the start of a segment, kept separately.
  Tensor start_of(int layer) const;
  /// Windows of this many rows.
  Tensor stream(std::int64_t rows) const { return stream_.view(rows, config_.hidden); }
  Tensor gradient(std::int64_t rows) const;
  Tensor passing(std::int64_t rows) const { return passing_.view(rows, config_.hidden); }
  Tensor logits() const { return logits_.view(rows(layers()), classes_); }
  std::int64_t rows(int level) const { return products().rows(level); }
  std::int64_t inputs(int layer) const { return products().inputs(layer); }

  Products& products() const { return *context_.products; }
  void declare_parameters(std::int64_t features);
  void allocate_buffers(std::int64_t features);
  void fit(Kept& kept, std::int64_t rows, const std::string& name) const;
  std::optional<Dropout> dropout(int number, std::int64_t rows) const;
  /// `number` of the draws.
  Tensor activate(const Norm& norm, const Kept& kept, const Tensor& x, int number) const;
  /// dx ← the gradient at the norm's input from dy at what activate() gave; may be one tensor.
  void activate_backward(const Norm& norm, const Kept& kept, const Tensor& dy, const Tensor& dx,
                         int number) const;
  void apply(const Linear& linear, const Tensor& x, const Tensor& y) const;
  void linear_gradients(const Linear& linear, const Tensor& x, const Tensor& dy) const;
  void add_bias(int bias, const Tensor& y) const;
  void bias_gradient(int bias, const Tensor& dy) const;
  void forward_block(int layer);
  void backward_block(int layer);
  /// Computes the blocks of a segment again, up to `last`.
  void recompute_segment(int last);

  Runtime& rt_;
  ModelConfig config_;
  TrainConfig train_;
  bool trains_;
  std::int64_t features_, classes_;
  Parameters parameters_;
  LayerContext context_;
  Linear encoder_, head_;
  Norm head_norm_;
  std::vector<Block> blocks_;
  std::vector<Kept> kept_;      ///< of the blocks of one segment
  std::vector<Buffer> starts_;  ///< h at the start of each segment but the last
  Kept head_kept_;
  Buffer stream_, passing_, gradient_, logits_;
  Buffer features_gradient_;                    ///< set if it is wanted
  std::optional<std::uint32_t> dropout_epoch_;  ///< of the last forward()
};

}  // namespace orrery
