#include "core/model/convolution.hpp"

namespace orrery {
namespace {

class DenseLayer final : public Convolution {
 public:
  DenseLayer(LayerContext& context, int layer, std::int64_t in, std::int64_t out, bool decays)
      : Convolution(context, layer, in, out),
        weight_(context.parameters.add({in, out}, Parameters::glorot(in, out), decays)) {}

  void allocate() override {}
  std::int64_t aggregated_width() const override { return 0; }

  void forward(const Tensor& x, const Tensor& y) override {
    transform(x, c_.parameters.weight(weight_), y, 0);
  }
  bool has_in_place() const override { return true; }
  void forward_in_place(const Tensor& rows) override {
    transform(rows.cols_at(0, in_), c_.parameters.weight(weight_), rows.cols_at(0, out_), 0);
  }
  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    weight_gradient(x, dy, c_.parameters.gradient(weight_));
    if (dx) c_.products->transform_adjoint(dy, c_.parameters.weight(weight_), *dx, 0);
  }

  /// A product still reads dy while it writes dx.
  bool backward_in_place() const override { return false; }

 private:
  int weight_;
};

}  // namespace

std::unique_ptr<Convolution> make_dense_layer(LayerContext& context, int layer, std::int64_t in,
                                              std::int64_t out, bool decays) {
  return std::make_unique<DenseLayer>(context, layer, in, out, decays);
}

}  // namespace orrery
