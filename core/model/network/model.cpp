#include "core/model/network/model.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {

Model::Model(Runtime& rt, const ModelConfig& model, const TrainConfig& train,
             FirstLayer first_layer, std::int64_t features, std::int64_t classes, ModelUse use,
             const MoreParameters& more)
    : rt_(rt),
      config_(model),
      train_(train),
      trains_(use == ModelUse::training),
      features_(features),
      context_{rt,
               nullptr,
               parameters_,
               first_layer,
               model.dropout == 0 && model.projection == 0,
               nullptr,
               model.order} {
  if (weighs_edges(model)) context_.order = LayerOrder::transform_first;
  context_.model = &config_;
  context_.seed = train.seed;
  context_.trains = trains_;
  context_.input_gradient = trains_ && model.projection > 0;
  widths_.assign(static_cast<std::size_t>(layers()) + 1, model.hidden);
  widths_.front() = input_width(model, features);
  widths_.back() = classes;
  declare_parameters();
  if (more) more(parameters_);
  parameters_.allocate(rt_, train_, use);
}

void Model::attach(Products& products, const Tensor& features, const SparseInput* sparse) {
  context_.products = &products;
  context_.sparse_input = sparse;
  allocate_buffers();
  Layer& first = at(1);
  if (first.convolution->keeps_aggregated())
    first.convolution->keep_aggregated(features, first.activation);
}

void Model::detach() {
  for (Layer& layer : layers_) {
    layer.convolution->release();
    for (Buffer* buffer :
         {&layer.activation, &layer.normalised, &layer.rstd, &layer.moments, &layer.sum})
      *buffer = {};
  }
  for (Buffer* buffer : {&projected_, &dropped_input_, &features_gradient_, &gradient_,
                         &column_sums_, &context_.scratch, &context_.inner_gradient,
                         &context_.edge_scratch, &context_.more_edge_scratch})
    *buffer = {};
  context_.products = nullptr;
}

void Model::declare_parameters() {
  const bool decay_all = train_.weight_decay_on == WeightDecayOn::all;
  if (config_.projection > 0) {
    parameters_.begin_layer(0);
    projection_.emplace(context_, features_, width(0), true, true, "projection");
  }
  for (int l = 1; l <= layers(); ++l) {
    parameters_.begin_layer(l);
    const bool decays = decay_all || l == 1;
    const auto in = width(l - 1), out = width(l);
    Layer layer;
    layer.first_parameter = parameters_.count();
    const auto make = dense(l) ? make_dense_layer : layer_of(config_).make;
    layer.convolution = make(context_, l, in, out, decays);
    if (config_.inner_layers > 0 && !dense(l) && !last(l))
      layer.convolution =
          make_nested_layer(std::move(layer.convolution), context_, l, in, out, config_, decays);
    // A batch norm would subtract a bias again; its gradient would be only rounding error.
    const bool shifted = config_.batch_norm && !last(l);
    if (config_.bias && !shifted) layer.bias = parameters_.add({1, out}, {}, decays, "bias");
    if ((config_.layer_norm || config_.batch_norm) && !last(l)) {
      layer.gain = parameters_.add({1, out}, {0, 1}, decays, "norm.gain");
      layer.shift = parameters_.add({1, out}, {}, decays, "norm.shift");
      if (config_.batch_norm) layer.averages = parameters_.add_averages(out);
    }
    layers_.push_back(std::move(layer));
  }
}

void Model::allocate_buffers() {
  const auto fit = [&](Buffer& buffer, Shape shape, const std::string& name) {
    make_fit(rt_, buffer, shape, name);
  };
  if (projection_)
    fit(projected_, {rows(0), columns(0)}, "activations/projected input");
  else if (trains_ && config_.dropout > 0)
    fit(dropped_input_, {rows(0), columns(0)}, "activations/input after dropout");
  if (projection_ && learns_features_)
    fit(features_gradient_, {rows(0), features_}, "activations/gradient of features");
  std::int64_t scratch = 0, widest_aggregate = 0, gradient = 0;
  Convolution::EdgeScratch edges;
  bool in_place = true;  // the backward pass of every layer
  for (int l = 1; l <= layers(); ++l) {
    Layer& layer = at(l);
    const auto n_in = inputs(l), n_out = rows(l), n_room = room(l);
    // The gradient that is passed down; a sparse input never has dense rows.
    const bool passes_down = trains_ && !(l == 1 && context_.sparse_input);
    const std::int64_t below = passes_down ? n_in * columns(l - 1) : 0;
    fit(layer.activation, {1, std::max(n_room * columns(l), below)},
        fmt::format("activations/layer {}", l));
    if (residual(l))
      fit(layer.sum, {1, n_room * columns(l)}, fmt::format("activations/residual sum {}", l));
    layer.convolution->allocate();
    const bool by_columns = layer.averages >= 0;
    if (layer.gain >= 0 && (trains_ || !by_columns))
      fit(layer.normalised, {n_out, width(l)}, fmt::format("activations/normalised layer {}", l));
    if (layer.gain >= 0 && !by_columns)
      fit(layer.rstd, {n_out, 1}, fmt::format("activations/rstd layer {}", l));
    if (by_columns && trains_) {
      make_fit(rt_, layer.moments, {1, 2 * width(l) + 1},
               fmt::format("activations/moments layer {}", l), DType::f64);
      fit(column_sums_, {1, 2 * width(l)}, "scratch/column sums");
    }
    const std::int64_t scratch_columns = layer.convolution->local_scratch();
    const bool of_sources = weighs_edges(config_) && !dense(l) && products().holds_sources();
    const auto n_scratch = of_sources ? std::max(n_in, products().sources(l)) : n_in;
    scratch = std::max(scratch, std::max(n_scratch, n_out) * scratch_columns);
    const auto [buffers, elements] = layer.convolution->edge_scratch();
    edges = {std::max(edges.buffers, buffers), std::max(edges.elements, elements)};
    widest_aggregate = std::max(widest_aggregate, layer.convolution->aggregated_width());
    gradient = std::max(gradient, n_out * columns(l));
    in_place = in_place && layer.convolution->backward_in_place();
  }
  fit(context_.scratch, {1, scratch}, "scratch/product");
  if (edges.buffers > 0) fit(context_.edge_scratch, {1, edges.elements}, "scratch/edges");
  if (edges.buffers > 1) fit(context_.more_edge_scratch, {1, edges.elements}, "scratch/more edges");
  if (trains_ && !in_place && gradient > 0) fit(gradient_, {1, gradient}, "scratch/gradient");
  products().prepare(widest_aggregate, *std::max_element(widths_.begin(), widths_.end()));
}

Tensor Model::forward(const Tensor& features, Stage stage, int epoch,
                      std::optional<std::uint32_t> dropout_epoch) {
  ORRERY_ASSERT(trains_ || !dropout_epoch);
  dropout_epoch_ = config_.dropout > 0 ? dropout_epoch : std::nullopt;
  context_.draws = dropout_epoch;
  steps_ = dropout_epoch.has_value();
  if (projection_ || dropout_epoch_) rt_.phase({stage, epoch, 0});
  const Tensor first = input(1, features);
  if (projection_) projection_->forward(0, features, first);
  if (dropout_epoch_)
    rt_.submit(Lane::compute, Activate{projection_ ? first : features, std::nullopt, first,
                                       Activation::none, dropout(0)});
  for (int l = 1; l <= layers(); ++l) {
    rt_.phase({stage, epoch, l});
    const Tensor x = input(l, features), y = activated(l);
    if (l > 1 && !dense(l)) products().complete(l, x);
    at(l).convolution->forward(x, y);
    finish_forward(l, y);
    if (!residual(l)) continue;
    rt_.submit(Lane::compute, Copy{y, output(l)});
    rt_.submit(Lane::compute, Copy{x.rows_at(0, rows(l)), output(l), 1, true});
  }
  return output(layers());
}

/// Everything of a layer after its convolution, in place.
void Model::finish_forward(int layer, const Tensor& y) {
  const Layer& self = at(layer);
  std::optional<Tensor> bias;
  if (self.bias >= 0) bias = own_columns(parameters_.weight(self.bias));
  if (last(layer)) {
    if (bias) rt_.submit(Lane::compute, Activate{y, bias, y, Activation::none, std::nullopt});
    return;
  }
  if (self.gain >= 0) {
    if (bias) rt_.submit(Lane::compute, Activate{y, bias, y, Activation::none, std::nullopt});
    self.averages < 0 ? normalise_rows(layer, y) : normalise_columns(layer, y);
    bias.reset();
  }
  rt_.submit(Lane::compute, Activate{y, bias, y, config_.activation, dropout(layer)});
}

void Model::normalise_rows(int layer, const Tensor& y) {
  const Layer& self = at(layer);
  rt_.submit(Lane::compute,
             LayerNorm{y, parameters_.weight(self.gain), parameters_.weight(self.shift),
                       normalised(layer), rstd(layer), y});
}

/// Rows of other ranks' vertices are normalised as at their owners, who count them.
void Model::normalise_columns(int layer, const Tensor& y) {
  const Layer& self = at(layer);
  BatchNorm norm{.x = y,
                 .moments = std::nullopt,
                 .averages = parameters_.averages(self.averages),
                 .gain = parameters_.weight(self.gain),
                 .shift = parameters_.weight(self.shift),
                 .normalised = std::nullopt,
                 .y = y};
  if (steps_) {
    const Tensor own = y.rows_at(0, rows(layers())), sums = moments(layer);
    const std::int64_t f = width(layer);
    rt_.submit(Lane::compute, ColumnMoments{own, own, sums.cols_at(0, f), sums.cols_at(f, f)});
    rt_.submit(Lane::compute, Fill{sums.cols_at(2 * f, 1), static_cast<double>(own.rows())});
    sum_over_vertices(sums);
    norm.moments = sums;
    norm.normalised = normalised(layer);
  }
  rt_.submit(Lane::compute, norm);
}

void Model::sum_over_vertices(const Tensor& x) {
  rt_.wait(Lane::comm2, rt_.record(Lane::compute));
  rt_.submit(Lane::comm2, AllReduce{x, products().covering_group()});
  rt_.wait(Lane::compute, rt_.record(Lane::comm2));
}

Tensor Model::logits_gradient() const { return gradient_at(layers()); }

void Model::backward(const Tensor& features, int epoch, const GradientsReady& ready) {
  ORRERY_ASSERT(trains_ && "a network for inference has no backward pass");
  Tensor passed_down = logits_gradient();  // the gradient at h_l
  for (int l = layers(); l >= 1; --l) {
    rt_.phase({Stage::backward, epoch, l});
    const Tensor dz = gradient_at(l);
    finish_backward(l, passed_down, dz);
    std::optional<Tensor> dx;
    if (l > 1 || context_.input_gradient) dx = gradient_below(l);
    at(l).convolution->backward(input(l, features), dz, dx);
    if (l == 1 && dx && dropout_epoch_)
      rt_.submit(Lane::compute,
                 ActivateBackward{*dx, std::nullopt, *dx, Activation::none, dropout(0)});
    if (residual(l)) rt_.submit(Lane::compute, Copy{passed_down, dx->rows_at(0, rows(l)), 1, true});
    if (dx && l > 1) {
      if (!dense(l)) products().complete_adjoint(l, *dx);
      passed_down = dx->rows_at(0, rows(l - 1));
    }
    ready(at(l).first_parameter);
  }
  if (projection_) project_backward(features, epoch, ready);
}

void Model::project_backward(const Tensor& features, int epoch, const GradientsReady& ready) {
  rt_.phase({Stage::backward, epoch, 0});
  const Tensor dx = gradient_below(1).rows_at(0, rows(0));
  projection_->set_gradients(0, features, dx);
  if (learns_features_) projection_->backward(0, dx, features_gradient(), 0);
  ready(0);
}

/// The adjoint of finish_forward: dz ← gradient at the convolution's output from dy, the gradient
/// at the layer's output.
void Model::finish_backward(int layer, const Tensor& dy, const Tensor& dz) {
  const Layer& self = at(layer);
  if (!last(layer))
    rt_.submit(Lane::compute,
               ActivateBackward{dy, activated(layer), dz, config_.activation, dropout(layer)});
  if (self.gain >= 0) self.averages < 0 ? rows_backward(layer, dz) : columns_backward(layer, dz);
  if (self.bias < 0) return;
  const Tensor db = parameters_.gradient(self.bias);
  if (columns(layer) < width(layer)) rt_.submit(Lane::compute, Fill{db, 0});
  rt_.submit(Lane::compute, ColumnSum{dz, own_columns(db), 0});
}

void Model::rows_backward(int layer, const Tensor& dz) {
  const Layer& self = at(layer);
  rt_.submit(
      Lane::compute,
      LayerNormBackward{dz, normalised(layer), rstd(layer), parameters_.weight(self.gain), dz,
                        parameters_.gradient(self.gain), parameters_.gradient(self.shift)});
}

/// Gradients of gain and shift stay this rank's part, like all others; the sums over all ranks came
/// back through means and variances.
void Model::columns_backward(int layer, const Tensor& dz) {
  const Layer& self = at(layer);
  const std::int64_t f = width(layer);
  const Tensor dshift = parameters_.gradient(self.shift), dgain = parameters_.gradient(self.gain);
  const Tensor sums = column_sums_.view(1, 2 * f);
  rt_.submit(Lane::compute, ColumnMoments{dz, normalised(layer), dshift, dgain});
  rt_.submit(Lane::compute, Copy{dshift, sums.cols_at(0, f)});
  rt_.submit(Lane::compute, Copy{dgain, sums.cols_at(f, f)});
  sum_over_vertices(sums);
  rt_.submit(Lane::compute, BatchNormBackward{dz, normalised(layer), moments(layer), sums,
                                              parameters_.weight(self.gain), dz, rows(layers())});
}

Tensor Model::activated(int layer) const {
  return at(layer).activation.view(rows(layer), columns(layer));
}

Tensor Model::normalised(int layer) const {
  return at(layer).normalised.view(rows(layer), width(layer));
}

Tensor Model::rstd(int layer) const { return at(layer).rstd.view(rows(layer), 1); }

Tensor Model::output(int layer) const {
  if (residual(layer)) return at(layer).sum.view(rows(layer), columns(layer));
  return activated(layer);
}

Tensor Model::input(int layer, const Tensor& features) const {
  if (layer > 1) {
    const Layer& below = at(layer - 1);
    const Buffer& buffer = residual(layer - 1) ? below.sum : below.activation;
    return buffer.view(inputs(layer), columns(layer - 1));
  }
  if (projection_) return projected_.view(rows(0), columns(0));
  return dropout_epoch_ ? dropped_input_.view(rows(0), columns(0)) : features;
}

Tensor Model::gradient_at(int layer) const {
  return gradient_ ? gradient_.view(rows(layer), columns(layer)) : activated(layer);
}

Tensor Model::own_columns(const Tensor& row) const {
  const auto [first, count] = products().columns(row.cols());
  return row.cols_at(first, count);
}

std::optional<Dropout> Model::dropout(int layer) const {
  if (!dropout_epoch_) return std::nullopt;
  const Tensor ids = products().row_ids().rows_at(0, rows(layer));
  return Dropout{config_.dropout,
                 train_.seed,
                 *dropout_epoch_,
                 static_cast<std::uint32_t>(layer),
                 ids,
                 products().columns(width(layer)).first};
}

}  // namespace orrery
