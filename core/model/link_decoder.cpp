#include "core/model/link_decoder.hpp"

#include "core/base/error.hpp"

namespace orrery {

LinkDecoder::LinkDecoder(Runtime& rt, const LinkConfig& config) : rt_(rt), config_(config) {}

void LinkDecoder::declare(Parameters& parameters, int layer, bool decays) {
  parameters.begin_layer(layer);
  const std::int64_t width = config_.width, hidden = config_.decoder_hidden;
  switch (config_.decoder) {
    case Decoder::dot:
      return;
    case Decoder::distmult:  // starts as the dot product
      weight_ = parameters.add({width, 1}, {0, 1}, decays);
      return;
    case Decoder::mlp:
      hidden_weight_ =
          parameters.add({width, hidden}, Parameters::glorot(width, hidden), decays, "hidden");
      hidden_bias_ = parameters.add({1, hidden}, {}, decays, "hidden_bias");
      weight_ = parameters.add({hidden, 1}, Parameters::glorot(hidden, 1), decays);
      bias_ = parameters.add({1, 1}, {}, decays, "bias");
  }
}

void LinkDecoder::allocate(const Parameters& parameters, std::int64_t most_pairs) {
  parameters_ = &parameters;
  const std::int64_t width = config_.width;
  picked_ = Buffer(rt_, {most_pairs, width}, DType::f32, "links/rows of pairs");
  product_ = Buffer(rt_, {most_pairs, width}, DType::f32, "links/products of pairs");
  if (config_.decoder == Decoder::dot) {
    ones_ = Buffer(rt_, {width, 1}, DType::f32, "links/ones");
    rt_.submit(Lane::compute, Fill{ones_.tensor(), 1});
  }
  if (config_.decoder != Decoder::mlp) return;
  const Shape shape{most_pairs, config_.decoder_hidden};
  hidden_ = Buffer(rt_, shape, DType::f32, "links/hidden rows of pairs");
  hidden_gradient_ = Buffer(rt_, shape, DType::f32, "links/gradient of hidden rows");
}

void LinkDecoder::forward(const Tensor& x, const PairEnds& ends, const Tensor& scores) {
  const std::int64_t pairs = ends.pairs(), hidden = config_.decoder_hidden;
  const Tensor picked = rows(picked_, pairs, config_.width),
               product = rows(product_, pairs, config_.width);
  rt_.submit(Lane::compute, GatherRows{x, ends.left, picked});
  rt_.submit(Lane::compute, SpMM{ends.at_right, picked, x, product});
  if (config_.decoder != Decoder::mlp) {
    const Tensor w = weight_ < 0 ? ones_.tensor() : weight(weight_);
    rt_.submit(Lane::compute, Gemm{product, w, scores});
    return;
  }
  const Tensor h = rows(hidden_, pairs, hidden);
  rt_.submit(Lane::compute, Gemm{product, weight(hidden_weight_), h});
  rt_.submit(Lane::compute, Activate{h, weight(hidden_bias_), h, Activation::relu, {}});
  rt_.submit(Lane::compute, Gemm{h, weight(weight_), scores});
  rt_.submit(Lane::compute, Activate{scores, weight(bias_), scores, Activation::none, {}});
}

void LinkDecoder::backward(const Tensor& x, const PairEnds& ends, const Tensor& dscores,
                           const Tensor& dx, bool more) {
  const std::int64_t pairs = ends.pairs(), hidden = config_.decoder_hidden;
  const Tensor picked = rows(picked_, pairs, config_.width),
               product = rows(product_, pairs, config_.width);
  const float beta = more ? 1 : 0;
  const auto add_gradient = [&](int number, const Tensor& a, const Tensor& b) {
    rt_.submit(Lane::compute, Gemm{a, b, gradient(number), true, false, beta});
  };
  // product ← the gradient at it.
  if (config_.decoder == Decoder::mlp) {
    const Tensor h = rows(hidden_, pairs, hidden), dh = rows(hidden_gradient_, pairs, hidden);
    rt_.submit(Lane::compute, ColumnSum{dscores, gradient(bias_), beta});
    add_gradient(weight_, h, dscores);
    rt_.submit(Lane::compute, Gemm{dscores, weight(weight_), dh, false, true});
    rt_.submit(Lane::compute, ActivateBackward{dh, h, dh, Activation::relu, {}});
    rt_.submit(Lane::compute, ColumnSum{dh, gradient(hidden_bias_), beta});
    add_gradient(hidden_weight_, product, dh);
    rt_.submit(Lane::compute, Gemm{dh, weight(hidden_weight_), product, false, true});
  } else {
    if (weight_ >= 0) add_gradient(weight_, product, dscores);
    const Tensor w = weight_ < 0 ? ones_.tensor() : weight(weight_);
    rt_.submit(Lane::compute, Gemm{dscores, w, product, false, true});
  }
  // The gradient at each end is this times the row of the other end.
  rt_.submit(Lane::compute, SpMM{ends.at_right, product, x, picked});
  rt_.submit(Lane::compute, ScatterAddRows{picked, ends.left, dx});
  rt_.submit(Lane::compute, SpMM{ends.at_left, product, x, picked});
  rt_.submit(Lane::compute, ScatterAddRows{picked, ends.right, dx});
}

}  // namespace orrery
