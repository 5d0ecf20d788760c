#include "core/model/convolution.hpp"
#include "core/model/layer_type.hpp"

namespace orrery {
namespace {

/// y = x·W₁ + A·x·W₂, A the mean over in-neighbours.
///
/// Source    Hamilton et al. 2017, the mean variant, without the final normalisation
class SageConvolution final : public Convolution {
 public:
  SageConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out, bool decays)
      : Convolution(context, layer, in, out),
        self_(context.parameters.add({in, out}, Parameters::glorot(in, out), decays, "self")),
        neighbour_(
            context.parameters.add({in, out}, Parameters::glorot(in, out), decays, "neighbours")) {}

  void forward(const Tensor& x, const Tensor& y) override {
    Products& p = *c_.products;
    const Tensor w = c_.parameters.weight(neighbour_);
    if (transform_first()) {
      const Tensor xw = c_.scratch.view(rows_in(), local(out_));
      transform(x, w, xw, 0);
      transform(x, c_.parameters.weight(self_), y, 0);
      p.aggregate(layer_, xw, y, 1);
    } else {
      if (!keeps_aggregated()) p.aggregate(layer_, x, aggregated(), 0);
      transform(x, c_.parameters.weight(self_), y, 0);
      p.transform(aggregated(), w, y, 1);
    }
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    Products& p = *c_.products;
    const Tensor w = c_.parameters.weight(neighbour_), dw = c_.parameters.gradient(neighbour_);
    weight_gradient(x, dy, c_.parameters.gradient(self_));
    if (transform_first()) {
      const Tensor dxw = c_.scratch.view(rows_in(), local(out_));
      p.aggregate_adjoint(layer_, dy, dxw, 0);
      weight_gradient(x, dxw, dw);
      if (!dx) return;
      p.transform_adjoint(dxw, w, *dx, 0);
    } else {
      p.weight_gradient(aggregated(), dy, dw);
      if (!dx) return;
      const Tensor dax = c_.scratch.view(rows_out(), local(in_));
      p.transform_adjoint(dy, w, dax, 0);
      p.aggregate_adjoint(layer_, dax, *dx, 0);
    }
    p.transform_adjoint(dy, c_.parameters.weight(self_), dx->rows_at(0, rows_out()), 1);
  }

  /// dy is still needed after dx has begun.
  bool backward_in_place() const override { return false; }

 private:
  int self_, neighbour_;
};

}  // namespace

LayerType sage_layer() {
  return {.name = "sage",
          .description = "GraphSAGE: x·W1 + A·x·W2, A the mean over in-neighbours",
          .scaling = Scaling::mean,
          .sparse_input = true,
          .own_rows = true,
          .tape_keeps_aggregated = true,
          .make = [](LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                     bool decays) -> std::unique_ptr<Convolution> {
            return std::make_unique<SageConvolution>(context, layer, in, out, decays);
          }};
}

}  // namespace orrery
