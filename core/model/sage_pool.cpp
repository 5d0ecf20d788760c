// GraphSAGE with max-pooling: a vertex takes, column by column, the largest value that its
// neighbours send, not the mean.
//
// The largest is a sum by weights, as attention has them: a softmax over the in-edges of a vertex
// whose scores are scaled until nothing but the largest has a weight. Every column is a head. So the
// layer needs no operation that attention does not have, on any device; it pays with a weight for
// each edge and column.
//
// What a neighbour sends is made by the rank that has its row, so that rows travel once, as wide as
// the layer's input, forward and backward.
#include <fmt/core.h>

#include "core/model/convolution.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {
namespace {

/// Neighbouring floats from 1e-18 to 1e10 then differ by more than an exponential tells from none.
constexpr float kSharpness = 1e28F;

/// y = x·W₁ + m·W₂, m_i = max z_j over the in-neighbours j of i (0 without any), z = ReLU(x·W_p +
/// b_p), b_p where the model has biases. Neighbours that share the largest value share its gradient,
/// which so depends on no order of rows.
///
/// Memory    of each layer, beside what Model counts, in elements, s = sources(layer), e its edges,
///           f = in: z, s·f; m, n·f; the weights of edges, e·f. In training layers share e·f
/// Source    Hamilton et al. 2017, eq. 3, with W_p as wide as the layer's input, as DGL's SAGEConv
///           has it
class SagePoolConvolution final : public Convolution {
 public:
  SagePoolConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                      bool decays)
      : Convolution(context, layer, in, out),
        pool_(context.parameters.add({in, in}, Parameters::glorot(in, in), decays, "pool")),
        pool_bias_(context.model->bias ? context.parameters.add({1, in}, {}, decays, "pool_bias")
                                       : -1),
        self_(context.parameters.add({in, out}, Parameters::glorot(in, out), decays, "self")),
        neighbour_(
            context.parameters.add({in, out}, Parameters::glorot(in, out), decays, "neighbour")) {}

  void allocate() override {
    const auto fit = [&](Buffer& buffer, std::int64_t rows, std::string_view what) {
      make_fit(c_.rt, buffer, {rows, in_}, fmt::format("activations/{} of layer {}", what, layer_));
    };
    fit(z_, sources(), "what neighbours send");
    fit(largest_, rows_out(), "largest of neighbours");
    fit(weights_, entries(), "weights of edges");
  }
  void release() override {
    Convolution::release();
    for (Buffer* buffer : {&z_, &largest_, &weights_}) *buffer = {};
  }

  EdgeScratch edge_scratch() const override {
    return c_.trains ? EdgeScratch{1, entries() * in_} : EdgeScratch{};
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
    submit(Fill{largest(), 1});  // times what the source sends: the scores of its edges
    submit(Sddmm{edges().pattern, largest(), z(), weights()});
    submit(EdgeSoftmax{edges().pattern, weights(), {}, kSharpness});
    submit(SpMM{edges().pattern, weights(), z(), largest(), 0});
    c_.products->transform(largest(), c_.parameters.weight(neighbour_), y, 1);
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    Products& p = *c_.products;
    p.weight_gradient(largest(), dy, c_.parameters.gradient(neighbour_));
    p.transform_adjoint(dy, c_.parameters.weight(neighbour_), largest(), 0);
    const Tensor ordered = c_.edge_scratch.view(entries(), in_);
    const Tensor dz = c_.scratch.view(sources(), in_);
    submit(GatherRows{weights(), edges().order, ordered});
    submit(SpMM{edges().transposed, ordered, largest(), dz, 0});
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
  std::int64_t entries() const { return edges().pattern.nnz; }
  template <class T>
  void submit(const T& op) {
    c_.rt.submit(Lane::compute, op);
  }
  std::optional<Tensor> bias() const {
    if (pool_bias_ < 0) return std::nullopt;
    return c_.parameters.weight(pool_bias_);
  }
  Tensor z() const { return z_.view(sources(), in_); }
  /// In the backward pass its gradient.
  Tensor largest() const { return largest_.view(rows_out(), in_); }
  Tensor weights() const { return weights_.view(entries(), in_); }

  int pool_, pool_bias_, self_, neighbour_;
  Buffer z_, largest_, weights_;
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
