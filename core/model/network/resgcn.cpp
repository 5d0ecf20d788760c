#include "core/model/network/resgcn.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {

ResGcn::ResGcn(Runtime& rt, const ModelConfig& model, const TrainConfig& train,
               std::int64_t features, std::int64_t classes, ModelUse use,
               const MoreParameters& more)
    : rt_(rt),
      config_(model),
      train_(train),
      trains_(use == ModelUse::training),
      features_(features),
      classes_(classes),
      context_{rt, nullptr, parameters_, FirstLayer::recompute, false, nullptr} {
  declare_parameters(features);
  if (more) more(parameters_);
  parameters_.allocate(rt_, train_, use);
}

void ResGcn::attach(Products& products, const Tensor& features, const SparseInput* sparse) {
  ORRERY_ASSERT(sparse == nullptr);
  context_.products = &products;
  allocate_buffers(features.cols());
}

void ResGcn::detach() {
  for (Block& block : blocks_) block.convolution->release();
  kept_.clear();
  starts_.clear();
  head_kept_ = {};
  for (Buffer* buffer :
       {&stream_, &passing_, &gradient_, &logits_, &features_gradient_, &context_.scratch})
    *buffer = {};
  context_.products = nullptr;
}

void ResGcn::declare_parameters(std::int64_t features) {
  const std::int64_t d = config_.hidden;
  const bool all = train_.weight_decay_on == WeightDecayOn::all;
  const auto linear = [&](std::int64_t in, std::int64_t out, bool decays) {
    Linear made{parameters_.add({in, out}, Parameters::glorot(in, out), decays, "linear.weight"),
                -1};
    if (config_.bias) made.bias = parameters_.add({1, out}, {}, decays, "linear.bias");
    return made;
  };
  const auto norm = [&] {
    const int gain = parameters_.add({1, d}, {0, 1}, all, "norm.gain");
    return Norm{gain, parameters_.add({1, d}, {}, all, "norm.shift")};
  };
  encoder_ = linear(features, d, true);
  for (int l = 1; l <= layers(); ++l) {
    parameters_.begin_layer(l);
    Block block{norm(), layer_of(config_).make(context_, l, d, d, all)};
    if (config_.bias) block.bias = parameters_.add({1, d}, {}, all, "bias");
    blocks_.push_back(std::move(block));
  }
  parameters_.begin_layer(layers() + 1);
  head_norm_ = norm();
  head_ = linear(d, classes_, all);
}

void ResGcn::fit(Kept& kept, std::int64_t rows, const std::string& name) const {
  const std::int64_t d = config_.hidden;
  make_fit(rt_, kept.activated, {1, rows * d}, "activations/" + name);
  make_fit(rt_, kept.normalised, {1, rows * d}, "activations/normalised " + name);
  make_fit(rt_, kept.rstd, {1, rows}, "activations/rstd " + name);
}

void ResGcn::allocate_buffers(std::int64_t features) {
  const std::int64_t d = config_.hidden;
  const auto fit_rows = [&](Buffer& buffer, std::int64_t n, const std::string& name) {
    make_fit(rt_, buffer, {1, n * d}, name);
  };
  std::int64_t most = rows(0);
  const int slots = trains_ ? std::min(segment(), layers()) : 1;
  std::vector<std::int64_t> rows_of_slot(static_cast<std::size_t>(slots), 0);
  for (int l = 1; l <= layers(); ++l) {
    most = std::max(most, inputs(l));
    auto& most_in_slot = rows_of_slot[slot(l)];
    most_in_slot = std::max(most_in_slot, inputs(l));
  }
  fit_rows(stream_, most, "activations/residual stream");
  fit_rows(passing_, most, "scratch/through a block");
  fit_rows(context_.scratch, most, "scratch/product");
  kept_.resize(rows_of_slot.size());
  for (std::size_t i = 0; i < kept_.size(); ++i)
    fit(kept_[i], rows_of_slot[i], fmt::format("block {} of a segment", i + 1));
  // For every segment but the last.
  starts_.resize(trains_ ? orrery::at((layers() - 1) / segment()) : 0);
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    const int first = 1 + static_cast<int>(i) * segment();
    fit_rows(starts_[i], rows(first - 1), fmt::format("activations/stream before block {}", first));
  }
  if (!starts_.empty()) fit_rows(gradient_, most, "scratch/gradient");
  for (Block& block : blocks_) block.convolution->allocate();
  fit(head_kept_, rows(layers()), "head");
  make_fit(rt_, logits_, {rows(layers()), classes_}, "activations/logits");
  if (context_.input_gradient)
    make_fit(rt_, features_gradient_, {rows(0), features}, "activations/gradient of features");
  products().prepare(d, std::max({features, d, classes_}));
}

Tensor ResGcn::start_of(int layer) const {
  return starts_[orrery::at((layer - 1) / segment())].view(rows(layer - 1), config_.hidden);
}

/// The stream is no longer needed when gradients flow, unless blocks are computed again.
Tensor ResGcn::gradient(std::int64_t rows) const {
  return (gradient_ ? gradient_ : stream_).view(rows, config_.hidden);
}

std::optional<Dropout> ResGcn::dropout(int number, std::int64_t rows) const {
  if (!dropout_epoch_) return std::nullopt;
  return Dropout{config_.dropout,
                 train_.seed,
                 *dropout_epoch_,
                 static_cast<std::uint32_t>(number),
                 products().row_ids().rows_at(0, rows),
                 0};
}

Tensor ResGcn::activate(const Norm& norm, const Kept& kept, const Tensor& x, int number) const {
  const std::int64_t n = x.rows(), d = config_.hidden;
  const Tensor y = kept.activated.view(n, d);
  rt_.submit(Lane::compute,
             LayerNorm{x, parameters_.weight(norm.gain), parameters_.weight(norm.shift),
                       kept.normalised.view(n, d), kept.rstd.view(n, 1), y});
  rt_.submit(Lane::compute, Activate{y, std::nullopt, y, Activation::relu, dropout(number, n)});
  return y;
}

void ResGcn::activate_backward(const Norm& norm, const Kept& kept, const Tensor& dy,
                               const Tensor& dx, int number) const {
  const std::int64_t n = dy.rows(), d = config_.hidden;
  rt_.submit(Lane::compute, ActivateBackward{dy, kept.activated.view(n, d), dy, Activation::relu,
                                             dropout(number, n)});
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
  products().transform(x, parameters_.weight(linear.weight), y, 0);
  add_bias(linear.bias, y);
}

void ResGcn::linear_gradients(const Linear& linear, const Tensor& x, const Tensor& dy) const {
  products().weight_gradient(x, dy, parameters_.gradient(linear.weight));
  bias_gradient(linear.bias, dy);
}

Tensor ResGcn::forward(const Tensor& features, Stage stage, int epoch,
                       std::optional<std::uint32_t> dropout_epoch) {
  ORRERY_ASSERT(trains_ || !dropout_epoch);
  dropout_epoch_ = config_.dropout > 0 ? dropout_epoch : std::nullopt;
  rt_.phase({stage, epoch, 0});
  apply(encoder_, features, stream(rows(0)));
  for (int l = 1; l <= layers(); ++l) {
    rt_.phase({stage, epoch, l});
    if (trains_ && stage == Stage::forward && first_of_segment(l) && !last_segment(l))
      rt_.submit(Lane::compute, Copy{stream(rows(l - 1)), start_of(l)});
    forward_block(l);
  }
  const int top = layers();
  apply(head_, activate(head_norm_, head_kept_, stream(rows(top)), top + 1), logits());
  return logits();
}

void ResGcn::forward_block(int layer) {
  const Block& block = at(layer);
  const Tensor x = stream(inputs(layer));
  products().complete(layer, x);
  const Tensor u = activate(block.norm, kept(layer), x, layer);
  const Tensor y = passing(rows(layer));
  block.convolution->forward(u, y);
  add_bias(block.bias, y);
  rt_.submit(Lane::compute, Copy{y, stream(rows(layer)), 1, true});
}

void ResGcn::backward(const Tensor& features, int epoch, const GradientsReady& ready) {
  ORRERY_ASSERT(trains_ && "a network for inference has no backward pass");
  const int top = layers();
  const std::int64_t n = rows(top);
  rt_.phase({Stage::backward, epoch, top});
  linear_gradients(head_, head_kept_.activated.view(n, config_.hidden), logits());
  products().transform_adjoint(logits(), parameters_.weight(head_.weight), passing(n), 0);
  activate_backward(head_norm_, head_kept_, passing(n), gradient(n), top + 1);
  ready(head_norm_.gain);
  for (int l = top; l >= 1; --l) {
    rt_.phase({Stage::backward, epoch, l});
    const bool last_of_segment = l < top && first_of_segment(l + 1);
    if (last_of_segment) recompute_segment(l);
    backward_block(l);
    ready(at(l).norm.gain);
  }
  rt_.phase({Stage::backward, epoch, 0});
  linear_gradients(encoder_, features, gradient(rows(0)));
  if (context_.input_gradient)
    products().transform_adjoint(gradient(rows(0)), parameters_.weight(encoder_.weight),
                                 features_gradient(), 0);
  ready(encoder_.weight);
}

void ResGcn::recompute_segment(int last) {
  const int first = last - segment() + 1;
  rt_.submit(Lane::compute, Copy{start_of(first), stream(rows(first - 1))});
  for (int l = first; l <= last; ++l) forward_block(l);
}

/// The gradient continues along the stream, and the gradient through the block is added. Rows that
/// are needed only up to the block's input have nothing else.
void ResGcn::backward_block(int layer) {
  const Block& block = at(layer);
  const std::int64_t n = rows(layer), more = inputs(layer) - n;
  const Tensor dy = gradient(n), dx = passing(n + more);
  const Tensor u = kept(layer).activated.view(n + more, config_.hidden);
  bias_gradient(block.bias, dy);
  block.convolution->backward(u, dy, dx);
  activate_backward(block.norm, kept(layer), dx, dx, layer);
  const Tensor below = gradient(n + more);
  rt_.submit(Lane::compute, Copy{dx.rows_at(0, n), below.rows_at(0, n), 1, true});
  if (more > 0) rt_.submit(Lane::compute, Copy{dx.rows_at(n, more), below.rows_at(n, more)});
  products().complete_adjoint(layer, below);
}

}  // namespace orrery
