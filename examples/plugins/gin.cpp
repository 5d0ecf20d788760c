// A layer from outside: GIN's convolution y = ((1 + e)·x + A·x)·W, where A sums over in-neighbours.
//
// Like the layers of the tree, it multiplies by W before or after A, whichever makes the aggregated
// matrix narrower. It computes its own adjoint: with S = (1 + e)·I + A, y = S·x·W, so dW =
// (S·x)ᵀ·dy = xᵀ·(Sᵀ·dy) and dx = Sᵀ·(dy·Wᵀ).
//
// Source    Xu, Hu, Leskovec, Jegelka 2019, equation 4.1
// Departs   e is a constant, as in their GIN-0, and the perceptron has one layer: bias, norm, ReLU
//           and dropout are those of every model here
#include "core/model/layer_type.hpp"

namespace {

using namespace orrery;

constexpr float kEpsilon = 0;

class GinConvolution final : public Convolution {
 public:
  GinConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out, bool decays)
      : Convolution(context, layer, in, out),
        weight_(context.parameters.add({in, out}, Parameters::glorot(in, out), decays)) {}

  /// S·x is kept over epochs.
  void keep_aggregated(const Tensor& x, const Buffer& slab) override {
    Convolution::keep_aggregated(x, slab);
    add_own(x, aggregated());
  }

  void forward(const Tensor& x, const Tensor& y) override {
    const Tensor w = c_.parameters.weight(weight_);
    if (transform_first()) {
      const Tensor xw = c_.scratch.view(rows_in(), local(out_));
      transform(x, w, xw, 0);
      c_.products->aggregate(layer_, xw, y, 0);
      add_own(xw, y);
    } else {
      const Tensor sx = aggregated();
      if (!keeps_aggregated()) {
        c_.products->aggregate(layer_, x, sx, 0);
        add_own(x, sx);
      }
      c_.products->transform(sx, w, y, 0);
    }
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    const Tensor w = c_.parameters.weight(weight_), dw = c_.parameters.gradient(weight_);
    if (transform_first()) {
      const Tensor dxw = c_.scratch.view(rows_in(), local(out_));
      c_.products->aggregate_adjoint(layer_, dy, dxw, 0);
      add_own_adjoint(dy, dxw);
      weight_gradient(x, dxw, dw);
      if (dx) c_.products->transform_adjoint(dxw, w, *dx, 0);
    } else {
      c_.products->weight_gradient(aggregated(), dy, dw);
      if (!dx) return;
      const Tensor dsx = c_.scratch.view(rows_out(), local(in_));
      c_.products->transform_adjoint(dy, w, dsx, 0);
      c_.products->aggregate_adjoint(layer_, dsx, *dx, 0);
      add_own_adjoint(dsx, *dx);
    }
  }

  /// dy has been read before dx is written.
  bool backward_in_place() const override { return true; }

 private:
  /// y += (1 + e)·x for the rows of x that y has: a vertex keeps its row while it is needed.
  void add_own(const Tensor& x, const Tensor& y) const {
    c_.rt.submit(Lane::compute, Copy{x.rows_at(0, rows_out()), y, 1 + kEpsilon, true});
  }
  void add_own_adjoint(const Tensor& dy, const Tensor& dx) const {
    c_.rt.submit(Lane::compute, Copy{dy, dx.rows_at(0, rows_out()), 1 + kEpsilon, true});
  }

  int weight_;
};

const AddLayer added({.name = "gin",
                      .description = "GIN: ((1 + e)·x + A·x)·W, A the sum over in-neighbours",
                      .scaling = Scaling::sum,
                      .make = [](LayerContext& context, int layer, std::int64_t in,
                                 std::int64_t out, bool decays) -> std::unique_ptr<Convolution> {
                        return std::make_unique<GinConvolution>(context, layer, in, out, decays);
                      }});

}  // namespace
