#include "core/model/convolution.hpp"
#include "core/model/layer_type.hpp"

namespace orrery {
namespace {

/// y = A·x·W.
///
/// Source    Kipf and Welling 2017
class GcnConvolution final : public Convolution {
 public:
  GcnConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out, bool decays)
      : Convolution(context, layer, in, out),
        weight_(context.parameters.add({in, out}, Parameters::glorot(in, out), decays)) {}

  void forward(const Tensor& x, const Tensor& y) override {
    const Tensor w = c_.parameters.weight(weight_);
    if (transform_first()) {
      const Tensor xw = c_.scratch.view(rows_in(), local(out_));
      transform(x, w, xw, 0);
      c_.products->aggregate(layer_, xw, y, 0);
    } else {
      const bool passes = inexact() || aggregates_both();
      const Tensor ax = passes ? c_.scratch.view(rows_out(), local(in_)) : aggregated();
      if (!keeps_aggregated()) c_.products->aggregate(layer_, x, ax, 0);
      c_.products->transform(ax, w, y, 0);
    }
  }

  bool has_in_place() const override { return true; }
  void forward_in_place(const Tensor& rows) override {
    const Tensor x = rows.cols_at(0, in_), y = rows.cols_at(0, out_);
    if (!transform_first()) c_.products->aggregate(layer_, x, x, 0);
    transform(x, c_.parameters.weight(weight_), y, 0);
    if (transform_first()) c_.products->aggregate(layer_, y, y, 0);
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    const Tensor w = c_.parameters.weight(weight_), dw = c_.parameters.gradient(weight_);
    if (inexact() && layer_ == 1) return weight_gradient(x, dy, dw);
    if (transform_first() || aggregates_both()) {
      const Tensor dxw = c_.scratch.view(rows_in(), local(out_));
      c_.products->aggregate_adjoint(layer_, dy, dxw, 0);
      weight_gradient(x, dxw, dw);
      if (dx) c_.products->transform_adjoint(dxw, w, *dx, 0);
    } else {
      c_.products->weight_gradient(inexact() ? x : aggregated(), dy, dw);
      if (!dx) return;
      const Tensor dax = c_.scratch.view(rows_out(), local(in_));
      c_.products->transform_adjoint(dy, w, dax, 0);
      c_.products->aggregate_adjoint(layer_, dax, *dx, 0);
    }
  }

  bool backward_in_place() const override { return true; }

 private:
  int weight_;
};

}  // namespace

LayerType gcn_layer() {
  return {.name = "gcn",
          .description = "GCN: A·x·W",
          .scaling = Scaling::chosen,
          .self_loops = true,
          .sparse_input = true,
          .make = [](LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                     bool decays) -> std::unique_ptr<Convolution> {
            return std::make_unique<GcnConvolution>(context, layer, in, out, decays);
          }};
}

}  // namespace orrery
