#include "core/model/resgcn.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace orrery {

ResGcn::ResGcn(Runtime& rt, Products& products, const ModelConfig& model, const TrainConfig& train,
               std::int64_t features, std::int64_t classes)
    : rt_(rt), products_(products), config_(model), train_(train), context_{rt,
                                                                            products,
                                                                            parameters_,
                                                                            FirstLayer::recompute,
                                                                            false,
                                                                            {}} {
  declare_parameters(features, classes);
  allocate_buffers(features, classes);
}

void ResGcn::declare_parameters(std::int64_t features, std::int64_t classes) {
  const std::int64_t d = config_.hidden;
  const bool all = train_.weight_decay_on == WeightDecayOn::all;
  const auto linear = [&](std::int64_t in, std::int64_t out, bool decays) {
    Linear made{parameters_.add({in, out}, Parameters::glorot(in, out), decays), -1};
    if (config_.bias) made.bias = parameters_.add({1, out}, {}, decays);
    return made;
  };
  const auto norm = [&] {
    const int gain = parameters_.add({1, d}, {0, 1}, all);
    return Norm{gain, parameters_.add({1, d}, {}, all)};
  };
  encoder_ = linear(features, d, true);
  for (int l = 1; l <= layers(); ++l) {
    Block block{norm(), make_sage_convolution(context_, l, d, d, all)};
    if (config_.bias) block.bias = parameters_.add({1, d}, {}, all);
    blocks_.push_back(std::move(block));
  }
  head_norm_ = norm();
  head_ = linear(d, classes, all);
}

ResGcn::Kept ResGcn::keep(int level, const std::string& name) const {
  const std::int64_t n = products_.rows(level), d = config_.hidden;
  return {Buffer(rt_, {1, n * d}, DType::f32, "activations/" + name),
          Buffer(rt_, {1, n * d}, DType::f32, "activations/normalised " + name),
          Buffer(rt_, {1, n}, DType::f32, "activations/rstd " + name)};
}

void ResGcn::allocate_buffers(std::int64_t features, std::int64_t classes) {
  parameters_.allocate(rt_, train_);
  const std::int64_t d = config_.hidden;
  const auto rows = [&](int level, const std::string& name) {
    return Buffer(rt_, {1, products_.rows(level) * d}, DType::f32, name);
  };
  stream_ = rows(0, "activations/residual stream");
  passing_ = rows(0, "scratch/through a block");
  context_.scratch = rows(0, "scratch/product");
  const int slots = std::min(segment(), layers());
  for (int slot = 0; slot < slots; ++slot)
    kept_.push_back(keep(slot, fmt::format("block {} of a segment", slot + 1)));
  for (int first = 1; !last_segment(first); first += segment())
    starts_.push_back(rows(first - 1, fmt::format("activations/stream before block {}", first)));
  if (!starts_.empty()) gradient_ = rows(0, "scratch/gradient");
  for (Block& block : blocks_) block.convolution->allocate();
  head_kept_ = keep(layers(), "head");
  logits_ = Buffer(rt_, {products_.rows(layers()), classes}, DType::f32, "activations/logits");
  products_.prepare(d, std::max({features, d, classes}));
}

Tensor ResGcn::start_of(int layer) const {
  return starts_[static_cast<std::size_t>((layer - 1) / segment())].view(products_.rows(layer - 1),
                                                                         config_.hidden);
}

/// The stream is not needed any more when gradients flow, unless blocks are computed again.
Tensor ResGcn::gradient(int level) const {
  return (gradient_ ? gradient_ : stream_).view(products_.rows(level), config_.hidden);
}

std::optional<Dropout> ResGcn::dropout(int number, int level) const {
  if (!dropout_epoch_) return std::nullopt;
  return Dropout{config_.dropout,
                 train_.seed,
                 *dropout_epoch_,
                 static_cast<std::uint32_t>(number),
                 products_.row_ids().rows_at(0, products_.rows(level)),
                 0};
}

Tensor ResGcn::activate(const Norm& norm, const Kept& kept, const Tensor& x, int number,
                        int level) const {
  const std::int64_t n = products_.rows(level), d = config_.hidden;
  const Tensor y = kept.activated.view(n, d);
  rt_.submit(Lane::compute,
             LayerNorm{x, parameters_.weight(norm.gain), parameters_.weight(norm.shift),
                       kept.normalised.view(n, d), kept.rstd.view(n, 1), y});
  rt_.submit(Lane::compute, Activate{y, std::nullopt, y, Activation::relu, dropout(number, level)});
  return y;
}

void ResGcn::activate_backward(const Norm& norm, const Kept& kept, const Tensor& dy,
                               const Tensor& dx, int number, int level) const {
  const std::int64_t n = products_.rows(level), d = config_.hidden;
  rt_.submit(Lane::compute, ActivateBackward{dy, kept.activated.view(n, d), dy, Activation::relu,
                                             dropout(number, level)});
  rt_.submit(Lane::compute,
             LayerNormBackward{dy, kept.normalised.view(n, d), kept.rstd.view(n, 1),
                               parameters_.weight(norm.gain), dx, parameters_.gradient(norm.gain),
                               parameters_.gradient(norm.shift)});
}

void ResGcn::add_bias(int bias, const Tensor& y) const {
  if (bias >= 0)
    rt_.submit(Lane::compute,
               Activate{y, parameters_.weight(bias), y, Activation::none, std::nullopt});
}

void ResGcn::bias_gradient(int bias, const Tensor& dy) const {
  if (bias >= 0) rt_.submit(Lane::compute, ColumnSum{dy, parameters_.gradient(bias), 0});
}

void ResGcn::apply(const Linear& linear, const Tensor& x, const Tensor& y) const {
  products_.transform(x, parameters_.weight(linear.weight), y, 0);
  add_bias(linear.bias, y);
}

void ResGcn::linear_gradients(const Linear& linear, const Tensor& x, const Tensor& dy) const {
  products_.weight_gradient(x, dy, parameters_.gradient(linear.weight));
  bias_gradient(linear.bias, dy);
}

Tensor ResGcn::forward(const Tensor& features, Stage stage, int epoch,
                       std::optional<std::uint32_t> dropout_epoch) {
  dropout_epoch_ = config_.dropout > 0 ? dropout_epoch : std::nullopt;
  rt_.phase({stage, epoch, 0});
  apply(encoder_, features, stream(0));
  for (int l = 1; l <= layers(); ++l) {
    rt_.phase({stage, epoch, l});
    if (stage == Stage::forward && first_of_segment(l) && !last_segment(l))
      rt_.submit(Lane::compute, Copy{stream(l - 1), start_of(l)});
    forward_block(l);
  }
  const int top = layers();
  apply(head_, activate(head_norm_, head_kept_, stream(top), top + 1, top), logits_.tensor());
  return logits_.tensor();
}

void ResGcn::forward_block(int layer) {
  const Block& block = at(layer);
  const Tensor u = activate(block.norm, kept(layer), stream(layer - 1), layer, layer - 1);
  const Tensor y = passing(layer);
  block.convolution->forward(u, y);
  add_bias(block.bias, y);
  rt_.submit(Lane::compute, Copy{y, stream(layer), 1});
}

void ResGcn::backward(const Tensor& features, int epoch) {
  const int top = layers();
  rt_.phase({Stage::backward, epoch, top});
  const Tensor activated = head_kept_.activated.view(products_.rows(top), config_.hidden);
  linear_gradients(head_, activated, logits_.tensor());
  products_.transform_adjoint(logits_.tensor(), parameters_.weight(head_.weight), passing(top), 0);
  activate_backward(head_norm_, head_kept_, passing(top), gradient(top), top + 1, top);
  for (int l = top; l >= 1; --l) {
    rt_.phase({Stage::backward, epoch, l});
    const bool last_of_segment = l < top && first_of_segment(l + 1);
    if (last_of_segment) recompute_segment(l);
    backward_block(l);
  }
  rt_.phase({Stage::backward, epoch, 0});
  linear_gradients(encoder_, features, gradient(0));
}

void ResGcn::recompute_segment(int last) {
  const int first = last - segment() + 1;
  rt_.submit(Lane::compute, Copy{start_of(first), stream(first - 1)});
  for (int l = first; l <= last; ++l) forward_block(l);
}

/// The gradient goes on along the stream, and what comes back through the block is added; rows that
/// are needed up to the block's input only have nothing else.
void ResGcn::backward_block(int layer) {
  const Block& block = at(layer);
  const Tensor dy = gradient(layer), dx = passing(layer - 1);
  const Tensor u = kept(layer).activated.view(products_.rows(layer - 1), config_.hidden);
  bias_gradient(block.bias, dy);
  block.convolution->backward(u, dy, dx);
  activate_backward(block.norm, kept(layer), dx, dx, layer, layer - 1);
  const std::int64_t n = products_.rows(layer), more = products_.rows(layer - 1) - n;
  const Tensor below = gradient(layer - 1);
  rt_.submit(Lane::compute, Copy{dx.rows_at(0, n), below.rows_at(0, n), 1});
  if (more > 0) rt_.submit(Lane::compute, Copy{dx.rows_at(n, more), below.rows_at(n, more)});
}

}  // namespace orrery
