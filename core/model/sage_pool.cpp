// GraphSAGE with max-pooling: a vertex takes, column by column, the largest of what its neighbours
// send, and not the mean.
//
// What a neighbour sends is made by the rank that has its row, so that rows travel once, as wide as
// the layer's input, forward and backward.
#include <fmt/core.h>

#include "core/model/convolution.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {
namespace {

/// y = x·W₁ + m·W₂, m_i = max z_j over the in-neighbours j of i (0 without any), z = ReLU(x·W_p +
/// b_p),
/// b_p where the model has biases.
///
/// Memory    of each layer, beside what Model counts, in elements, s = sources(layer), f = in: z,
///           s·f; m and the numbers of neighbours that share it, 2·n·f. Layers share n·f
/// Source    Hamilton et al. 2017, eq. 3, with W_p as wide as the layer's input, as DGL's SAGEConv
///           has it
class SagePoolConvolution final : public Convolution {
 public:
  SagePoolConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                      bool decays)
      : Convolution(context, layer, in, out),
        pool_(context.parameters.add({in, in}, Parameters::glorot(in, in), decays)),
        pool_bias_(context.model->bias ? context.parameters.add({1, in}, {}, decays) : -1),
        self_(context.parameters.add({in, out}, Parameters::glorot(in, out), decays)),
        neighbour_(context.parameters.add({in, out}, Parameters::glorot(in, out), decays)) {}

  void allocate() override {
    const auto fit = [&](Buffer& buffer, std::int64_t rows, std::string_view what) {
      make_fit(c_.rt, buffer, {rows, in_}, fmt::format("activations/{} of layer {}", what, layer_));
    };
    fit(z_, sources(), "what neighbours send");
    fit(largest_, rows_out(), "largest of neighbours");
    fit(ties_, rows_out(), "numbers of neighbours that have it");
  }
  void release() override {
    Convolution::release();
    for (Buffer* buffer : {&z_, &largest_, &ties_}) *buffer = {};
  }

  /// Of the gradient at the largest.
  EdgeScratch edge_scratch() const override {
    return c_.trains ? EdgeScratch{1, rows_out() * in_} : EdgeScratch{};
  }
  std::int64_t aggregated_width() const override { return in_; }
  std::int64_t scratch_width() const override { return in_; }
  /// dy is still needed after dx has been started.
  bool backward_in_place() const override { return false; }

  void forward(const Tensor& x, const Tensor& y) override {
    const Tensor own = z().rows_at(0, rows_in());
    transform(x, c_.parameters.weight(pool_), own, 0);
    submit(Activate{own, bias(), own, Activation::relu, {}});
    c_.products->bring_sources(layer_, z(),
                               [&] { transform(x, c_.parameters.weight(self_), y, 0); });
    submit(NeighbourMax{edges().pattern, z(), largest(), ties()});
    c_.products->transform(largest(), c_.parameters.weight(neighbour_), y, 1);
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    Products& p = *c_.products;
    p.weight_gradient(largest(), dy, c_.parameters.gradient(neighbour_));
    const Tensor dlargest = c_.edge_scratch.view(rows_out(), in_);
    p.transform_adjoint(dy, c_.parameters.weight(neighbour_), dlargest, 0);
    const Tensor dz = c_.scratch.view(sources(), in_);
    submit(NeighbourMaxBackward{edges().transposed, z(), largest(), ties(), dlargest, dz});
    p.bring_sources_adjoint(layer_, dz,
                            [&] { weight_gradient(x, dy, c_.parameters.gradient(self_)); });
    const Tensor own = dz.rows_at(0, rows_in());
    submit(ActivateBackward{own, z().rows_at(0, rows_in()), own, Activation::relu, {}});
    if (pool_bias_ >= 0) submit(ColumnSum{own, c_.parameters.gradient(pool_bias_), 0});
    weight_gradient(x, own, c_.parameters.gradient(pool_));
    if (!dx) return;
    p.transform_adjoint(own, c_.parameters.weight(pool_), *dx, 0);
    p.transform_adjoint(dy, c_.parameters.weight(self_), dx->rows_at(0, rows_out()), 1);
  }

 private:
  std::int64_t sources() const { return c_.products->sources(layer_); }
  const Edges& edges() const { return c_.products->edges(layer_); }
  template <class T>
  void submit(const T& op) {
    c_.rt.submit(Lane::compute, op);
  }
  std::optional<Tensor> bias() const {
    if (pool_bias_ < 0) return std::nullopt;
    return c_.parameters.weight(pool_bias_);
  }
  Tensor z() const { return z_.view(sources(), in_); }
  Tensor largest() const { return largest_.view(rows_out(), in_); }
  Tensor ties() const { return ties_.view(rows_out(), in_); }
  int pool_, pool_bias_, self_, neighbour_;
  Buffer z_, largest_, ties_;
};

}  // namespace

LayerType sage_pool_layer() {
  return {.name = "sage-pool",
          .description =
              "GraphSAGE with max-pooling: x·W1 + m·W2, m the largest of ReLU(x·Wp + bp) "
              "over in-neighbours",
          .scaling = Scaling::sum,
          .weighs_edges = true,
          .takes_largest = true,
          .make = [](LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                     bool decays) -> std::unique_ptr<Convolution> {
            return std::make_unique<SagePoolConvolution>(context, layer, in, out, decays);
          }};
}

}  // namespace orrery
