#include "core/inference/layer_stack.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/network/network.hpp"
#include "core/runtime/recorder.hpp"

namespace orrery {
namespace {

void load(Runtime& rt, const std::vector<float>& values, const Tensor& row) {
  if (static_cast<std::int64_t>(values.size()) != row.cols())
    throw ConfigError(
        "inference.weights",
        fmt::format("holds {} numbers, but this model has {}: it belongs to another model or "
                    "data set",
                    values.size(), row.cols()));
  rt.submit(Lane::compute,
            Load{FloatArray{std::make_shared<const std::vector<float>>(values)}, row});
}

}  // namespace

std::vector<std::int64_t> widths_of(const ModelConfig& model, std::int64_t features,
                                    std::int64_t classes) {
  std::vector<std::int64_t> widths(at(model.layers + model.dense_layers) + 1, model.hidden);
  widths.front() = features;
  widths.back() = classes;
  return widths;
}

std::int64_t classes_of(const ModelConfig& model, std::int64_t features,
                        const TrainedWeights& trained) {
  if (trained.features > 0 && trained.features != features)
    throw ConfigError(
        "inference.weights",
        fmt::format("was trained with {} feature columns, but the data set has {}: use a data "
                    "set with as many, or train again",
                    trained.features, features));
  if (trained.classes > 0) return trained.classes;
  const auto weights_with = [&](std::int64_t classes) {
    Recorder recorder({0, 1, {}, false});
    return make_network(recorder, model, {}, FirstLayer::recompute, features, classes,
                        ModelUse::inference)
        ->parameters()
        .weights()
        .cols();
  };
  // Every further column of the last layer has as many weights as the one before.
  const std::int64_t one = weights_with(1), more = weights_with(2) - one,
                     beyond = static_cast<std::int64_t>(trained.weights.size()) - one;
  if (beyond < 0 || beyond % more != 0)
    throw ConfigError("inference.weights",
                      fmt::format("holds {} numbers, which a model of these layers and {} features "
                                  "cannot have: it was trained with other features",
                                  trained.weights.size(), features));
  return beyond / more + 1;
}

void require_layer_by_layer(const ModelConfig& model) {
  if (model.type == ModelType::sgc || (weighs_edges(model) && model.type != ModelType::gat))
    throw ConfigError("model.type",
                      fmt::format("inference computes gcn, sage, gat, resgcn+ and layers from "
                                  "outside that work on no edges, and no \"{}\"",
                                  model.type.name));
}

LayerStack::LayerStack(Runtime& rt, TileProducts& products, const LayerGraphs& graphs,
                       const InferenceConfig& config, const ModelConfig& model, std::uint64_t seed,
                       std::int64_t features, std::int64_t classes, const TrainedWeights* trained)
    : rt_(rt),
      products_(products),
      config_(model),
      widths_(widths_of(model, features, classes)),
      context_{rt, &products, parameters_, FirstLayer::recompute, false, nullptr, model.order} {
  context_.trains = false;
  for (int l = 1; l <= model.layers; ++l) orders_.push_back(order_of(config, model, l));
  if (weighs_edges(model)) attention_ = std::make_unique<TileAttention>(rt, graphs, config);
  declare(seed, trained);
}

/// In the order of the trained network, so that its weights find their places.
void LayerStack::declare(std::uint64_t seed, const TrainedWeights* trained) {
  config_.type == ModelType::resgcn ? declare_resgcn() : declare_layers();
  TrainConfig start;
  start.seed = seed;
  parameters_.allocate(rt_, start, ModelUse::inference);
  if (trained == nullptr) return;
  const std::vector<Tensor> rows = parameters_.state();
  load(rt_, trained->weights, rows.front());
  if (rows.size() > 1) load(rt_, trained->averages, rows.back());
}

/// Declares the same parameters as Model.
void LayerStack::declare_layers() {
  const int layers = config_.layers + config_.dense_layers;
  for (int l = 1; l <= layers; ++l) {
    const auto in = width(l - 1), out = width(l);
    const auto make = l > config_.layers ? make_dense_layer : layer_of(config_).make;
    Layer layer;
    layer.convolution = attention_ && l <= config_.layers
                            ? attention_->make_layer(context_, products_, config_, l, in, out)
                            : make(context_, l, in, out, false);
    const bool hidden = l < layers;
    if (nested(l))
      layer.convolution =
          make_nested_layer(std::move(layer.convolution), context_, l, in, out, config_, false);
    if (config_.bias && !(config_.batch_norm && hidden))
      layer.bias = parameters_.add({1, out}, {}, false);
    if (hidden && (config_.layer_norm || config_.batch_norm)) {
      layer.gain = parameters_.add({1, out}, {0, 1}, false);
      layer.shift = parameters_.add({1, out}, {}, false);
      if (config_.batch_norm) layer.averages = parameters_.add_averages(out);
    }
    layers_.push_back(std::move(layer));
  }
}

/// Declares the same parameters as ResGcn.
void LayerStack::declare_resgcn() {
  const std::int64_t d = config_.hidden;
  const auto add_bias = [&](std::int64_t columns) {
    return config_.bias ? parameters_.add({1, columns}, {}, false) : -1;
  };
  const auto add_linear = [&](std::int64_t in, std::int64_t out) {
    Linear made;
    made.weight = parameters_.add({in, out}, Parameters::glorot(in, out), false);
    made.bias = add_bias(out);
    return made;
  };
  const auto add_norm = [&](Layer& layer) {
    layer.gain = parameters_.add({1, d}, {0, 1}, false);
    layer.shift = parameters_.add({1, d}, {}, false);
  };
  encoder_ = add_linear(width(0), d);
  for (int l = 1; l <= config_.layers; ++l) {
    Layer layer;
    add_norm(layer);
    layer.convolution = layer_of(config_).make(context_, l, d, d, false);
    layer.bias = add_bias(d);
    layers_.push_back(std::move(layer));
  }
  add_norm(head_norm_);
  head_ = add_linear(d, width(layers()));
}

Tensor LayerStack::own_columns(const Tensor& rows) const {
  const auto [first, count] = products_.columns(rows.cols());
  return rows.cols_at(first, count);
}

Convolution& LayerStack::convolution_of(int layer) {
  if (layer <= config_.layers) context_.order = orders_[at(layer) - 1];
  return *layers_[at(layer) - 1].convolution;
}

Buffer LayerStack::convolve(int layer, const Tensor& x, std::int64_t in, std::int64_t out) {
  Convolution& convolution = convolution_of(layer);
  const std::int64_t aggregated = convolution.aggregated_width(), n = x.rows();
  // Inner dense layers multiply rows as wide as their result.
  const std::int64_t widest_in = nested(layer) ? std::max(in, out) : in;
  products_.begin(layer, {aggregated, widest_in, out});
  convolution.allocate();
  if (const auto scratch = products_.columns(convolution.scratch_width()).count; scratch > 0)
    context_.scratch = Buffer(rt_, {1, n * scratch}, DType::f32, "scratch/product");
  Buffer made(rt_, {n, products_.columns(out).count}, DType::f32,
              fmt::format("activations/layer {}", layer));
  convolution.forward(x, made.tensor());
  convolution.release();
  context_.scratch = {};
  products_.end();
  return made;
}

Buffer LayerStack::forward(int layer, const Tensor& x) {
  if (config_.type == ModelType::resgcn) return forward_block(layer, x);
  Buffer made = convolve(layer, x, width(layer - 1), width(layer));
  finish(layer, made.tensor());
  if (config_.residual && layer > 1 && !last(layer) && made.tensor().cols() > 0)
    rt_.submit(Lane::compute, Copy{x, made.tensor(), 1, true});
  return made;
}

Tensor LayerStack::forward_in_place(int layer, Buffer& rows) {
  const std::int64_t in = width(layer - 1), out = width(layer), n = rows.tensor().rows();
  if (out > rows.tensor().cols()) {
    Buffer wider(rt_, {n, out}, DType::f32, fmt::format("activations/layer {}", layer));
    rt_.submit(Lane::compute, Copy{rows.tensor().cols_at(0, in), wider.tensor().cols_at(0, in)});
    rows = std::move(wider);
  }
  Convolution& convolution = convolution_of(layer);
  products_.begin(layer, {convolution.aggregated_width(), in, out});
  convolution.forward_in_place(rows.tensor().cols_at(0, std::max(in, out)));
  products_.end();
  const Tensor y = rows.tensor().cols_at(0, out);
  finish(layer, y);
  return y;
}

Buffer LayerStack::apply(const Linear& linear, const Tensor& x, std::int64_t in, std::int64_t out,
                         const std::string& name) {
  products_.begin(0, {0, in, out});
  Buffer made(rt_, {x.rows(), products_.columns(out).count}, DType::f32, "activations/" + name);
  products_.transform(x, parameters_.weight(linear.weight), made.tensor(), 0);
  products_.end();
  if (linear.bias >= 0 && made.tensor().cols() > 0)
    rt_.submit(Lane::compute, Activate{made.tensor(), own_columns(parameters_.weight(linear.bias)),
                                       made.tensor(), Activation::none, std::nullopt});
  return made;
}

Buffer LayerStack::activated(const Layer& norm, const Tensor& h) {
  Buffer made(rt_, h.shape, DType::f32, "activations/through a block");
  const Tensor u = made.tensor();
  if (u.cols() > 0) rt_.submit(Lane::compute, Copy{h, u});
  normalise_rows(norm, u, config_.hidden);
  if (u.cols() > 0)
    rt_.submit(Lane::compute, Activate{u, std::nullopt, u, Activation::relu, std::nullopt});
  return made;
}

Buffer LayerStack::forward_block(int layer, const Tensor& x) {
  const std::int64_t d = config_.hidden;
  Buffer encoded;
  if (layer == 1) encoded = apply(encoder_, x, width(0), d, "encoded");
  const Tensor h = encoded ? encoded.tensor() : x;
  const Layer& block = layers_[at(layer) - 1];
  Buffer made;
  {
    const Buffer u = activated(block, h);
    made = convolve(layer, u.tensor(), d, d);
  }
  if (made.tensor().cols() > 0) {
    if (block.bias >= 0)
      rt_.submit(Lane::compute, Activate{made.tensor(), own_columns(parameters_.weight(block.bias)),
                                         made.tensor(), Activation::none, std::nullopt});
    rt_.submit(Lane::compute, Copy{h, made.tensor(), 1, true});
  }
  if (!last(layer)) return made;
  encoded = {};
  const Buffer u = activated(head_norm_, made.tensor());
  made = {};
  return apply(head_, u.tensor(), d, width(layer), fmt::format("layer {}", layer));
}

/// Everything of a layer after its convolution, in place. A rank without columns takes part in
/// steps on whole rows.
void LayerStack::finish(int layer, const Tensor& y) {
  const Layer& self = layers_[at(layer) - 1];
  std::optional<Tensor> bias;
  if (self.bias >= 0) bias = own_columns(parameters_.weight(self.bias));
  const auto activate = [&](Activation activation) {
    if (y.cols() > 0) rt_.submit(Lane::compute, Activate{y, bias, y, activation, std::nullopt});
    bias.reset();
  };
  if (last(layer)) {
    if (bias) activate(Activation::none);
    return;
  }
  if (self.gain >= 0) {
    if (bias) activate(Activation::none);
    self.averages >= 0 ? normalise_columns(self, y) : normalise_rows(self, y, width(layer));
  }
  activate(config_.activation);
}

void LayerStack::normalise_rows(const Layer& layer, const Tensor& y, std::int64_t width) {
  products_.on_whole_rows(y, width, [&](const Tensor& rows) {
    const Buffer normalised(rt_, rows.shape, DType::f32, "scratch/normalised rows"),
        deviation(rt_, {rows.rows(), 1}, DType::f32, "scratch/1 over deviation");
    rt_.submit(Lane::compute,
               LayerNorm{rows, parameters_.weight(layer.gain), parameters_.weight(layer.shift),
                         normalised.tensor(), deviation.tensor(), rows});
  });
}

/// With the running averages of the training.
void LayerStack::normalise_columns(const Layer& layer, const Tensor& y) {
  if (y.cols() == 0) return;
  rt_.submit(Lane::compute, BatchNorm{.x = y,
                                      .moments = std::nullopt,
                                      .averages = own_columns(parameters_.averages(layer.averages)),
                                      .gain = own_columns(parameters_.weight(layer.gain)),
                                      .shift = own_columns(parameters_.weight(layer.shift)),
                                      .normalised = std::nullopt,
                                      .y = y});
}

}  // namespace orrery
