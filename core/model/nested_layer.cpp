#include <fmt/core.h>

#include <vector>

#include "core/base/index.hpp"
#include "core/model/convolution.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {
namespace {

/// t_0 = act(conv(x) + b_0), t_i = act(t_{i−1}·W_i + b_i), y = t_{k−1}·W_k. Each W is square.
///
/// Source    Song et al. 2021, Network In Graph Neural Network, eq. 4 and 5
class NestedLayer final : public Convolution {
 public:
  NestedLayer(std::unique_ptr<Convolution> convolution, LayerContext& context, int layer,
              std::int64_t in, std::int64_t out, const ModelConfig& model, bool decays)
      : Convolution(context, layer, in, out),
        convolution_(std::move(convolution)),
        activation_(model.activation) {
    for (int i = 0; i < model.inner_layers; ++i) {
      Inside& made = inside_.emplace_back();
      if (model.bias) made.bias = context.parameters.add({1, out}, {}, decays, "inner.bias");
      made.weight =
          context.parameters.add({out, out}, Parameters::glorot(out, out), decays, "inner.weight");
    }
  }

  void allocate() override {
    convolution_->allocate();
    const Shape shape{rows_out(), local(out_)};
    for (Inside& inside : inside_)
      make_fit(c_.rt, inside.activation, shape, fmt::format("activations/inside layer {}", layer_));
    if (c_.trains) make_fit(c_.rt, c_.inner_gradient, shape, "scratch/gradient inside a layer");
  }
  void release() override {
    convolution_->release();
    for (Inside& inside : inside_) inside.activation = {};
  }
  std::int64_t aggregated_width() const override { return convolution_->aggregated_width(); }
  std::int64_t scratch_width() const override { return convolution_->scratch_width(); }
  EdgeScratch edge_scratch() const override { return convolution_->edge_scratch(); }
  void keep_aggregated(const Tensor& x, const Buffer& slab) override {
    convolution_->keep_aggregated(x, slab);
  }

  void forward(const Tensor& x, const Tensor& y) override {
    convolution_->forward(x, rows(0));
    for (std::size_t i = 0; i < inside_.size(); ++i) {
      const Tensor t = rows(i);
      std::optional<Tensor> bias;
      if (inside_[i].bias >= 0) bias = own_columns(c_.parameters.weight(inside_[i].bias));
      if (t.cols() > 0)
        c_.rt.submit(Lane::compute, Activate{t, bias, t, activation_, std::nullopt});
      const Tensor next = i + 1 < inside_.size() ? rows(i + 1) : y;
      c_.products->transform(t, c_.parameters.weight(inside_[i].weight), next, 0);
    }
  }

  /// The gradient below overwrites what a dense layer inside has kept, once that has been read.
  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    Tensor above = dy;
    for (std::size_t i = inside_.size(); i-- > 0;) {
      const Inside& inside = inside_[i];
      const Tensor t = rows(i);
      const Tensor below =
          i + 1 < inside_.size() ? rows(i + 1) : c_.inner_gradient.view(t.rows(), t.cols());
      c_.products->weight_gradient(t, above, c_.parameters.gradient(inside.weight));
      c_.products->transform_adjoint(above, c_.parameters.weight(inside.weight), below, 0);
      c_.rt.submit(Lane::compute, ActivateBackward{below, t, below, activation_, std::nullopt});
      above = below;
      if (inside.bias < 0) continue;
      const Tensor db = c_.parameters.gradient(inside.bias);
      if (t.cols() < out_) c_.rt.submit(Lane::compute, Fill{db, 0});
      c_.rt.submit(Lane::compute, ColumnSum{below, own_columns(db), 0});
    }
    convolution_->backward(x, above, dx);
  }

  /// dy is read before dx is written.
  bool backward_in_place() const override { return true; }

 private:
  struct Inside {
    int bias = -1, weight = -1;  ///< parameter numbers; −1: none
    Buffer activation;
  };
  Tensor rows(std::size_t i) const { return inside_[i].activation.view(rows_out(), local(out_)); }
  Tensor own_columns(const Tensor& row) const {
    const auto [first, count] = c_.products->columns(row.cols());
    return row.cols_at(first, count);
  }

  std::unique_ptr<Convolution> convolution_;
  Activation activation_;
  std::vector<Inside> inside_;
};

}  // namespace

std::unique_ptr<Convolution> make_nested_layer(std::unique_ptr<Convolution> convolution,
                                               LayerContext& context, int layer, std::int64_t in,
                                               std::int64_t out, const ModelConfig& model,
                                               bool decays) {
  return std::make_unique<NestedLayer>(std::move(convolution), context, layer, in, out, model,
                                       decays);
}

}  // namespace orrery
