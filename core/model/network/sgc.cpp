#include "core/model/network/sgc.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {

Sgc::Sgc(Runtime& rt, const ModelConfig& model, const TrainConfig& train, FirstLayer first_layer,
         std::int64_t features, std::int64_t classes, ModelUse use, const MoreParameters& more)
    : rt_(rt),
      config_(model),
      train_(train),
      trains_(use == ModelUse::training),
      keeps_(first_layer == FirstLayer::exact && model.dropout == 0),
      features_(features),
      classes_(classes) {
  parameters_.begin_layer(1);
  weight_ = parameters_.add({features, classes}, Parameters::glorot(features, classes), true);
  if (config_.bias)
    bias_ = parameters_.add({1, classes}, {}, true, "bias");  // its layer is the first
  if (more) more(parameters_);
  parameters_.allocate(rt_, train_, use);
}

bool Sgc::keeps_aggregated() const {
  return keeps_ && config_.order != LayerOrder::transform_first;
}

void Sgc::attach(Products& products, const Tensor& features, const SparseInput* sparse) {
  ORRERY_ASSERT(sparse == nullptr);
  products_ = &products;
  const bool by_weights = weights_first() && !keeps_aggregated();
  const std::int64_t width = by_weights ? classes_ : features_;
  if (trains_ && config_.dropout > 0)
    make_fit(rt_, dropped_input_, {products.rows(0), columns(features_)},
             "activations/input after dropout");
  std::array<std::int64_t, 2> rows{};
  for (int l = by_weights ? 0 : 1; l <= config_.layers; ++l)
    rows[at(l % 2)] = std::max(
        {rows[at(l % 2)], products.rows(l), l < config_.layers ? products.inputs(l + 1) : 0});
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    make_fit(rt_, levels_[i], {rows[i], columns(width)},
             i == 0 ? "activations/even levels" : "activations/odd levels");
  if (!by_weights)
    make_fit(rt_, logits_, {products.rows(config_.layers), columns(classes_)},
             "activations/logits");
  if (learns_input_)
    make_fit(rt_, features_gradient_, {products.rows(0), columns(features_)},
             "activations/gradient of features");
  products.prepare(width, std::max(features_, classes_));
  if (keeps_aggregated()) aggregate_all(features, features_, Stage::setup, 0);
}

void Sgc::detach() {
  for (Buffer* buffer : {&dropped_input_, &logits_, &features_gradient_, &levels_[0], &levels_[1]})
    *buffer = {};
  products_ = nullptr;
}

Tensor Sgc::level(int level, std::int64_t width) const {
  const std::int64_t rows =
      level < config_.layers ? products_->inputs(level + 1) : products_->rows(level);
  return levels_[at(level % 2)].view(rows, columns(width));
}

Tensor Sgc::logits() const {
  if (!logits_) return level(config_.layers, classes_);
  return logits_.view(products_->rows(config_.layers), columns(classes_));
}

Tensor Sgc::input(const Tensor& features) const {
  if (!dropout_epoch_) return features;
  return dropped_input_.view(products_->rows(0), columns(features_));
}

void Sgc::aggregate_all(const std::optional<Tensor>& x, std::int64_t width, Stage stage,
                        int epoch) {
  for (int l = 1; l <= config_.layers; ++l) {
    if (stage != Stage::setup) rt_.phase({stage, epoch, l});
    const Tensor from = l == 1 && x ? *x : level(l - 1, width);
    if (l > 1) products_->complete(l, from);
    products_->aggregate(l, from, level(l, width).rows_at(0, products_->rows(l)), 0);
  }
}

Tensor Sgc::forward(const Tensor& features, Stage stage, int epoch,
                    std::optional<std::uint32_t> dropout_epoch) {
  ORRERY_ASSERT(trains_ || !dropout_epoch);
  dropout_epoch_ = config_.dropout > 0 ? dropout_epoch : std::nullopt;
  rt_.phase({stage, epoch, 0});
  if (dropout_epoch_) {
    const Tensor ids = products_->row_ids().rows_at(0, products_->rows(0));
    const Dropout dropout{
        config_.dropout, train_.seed, *dropout_epoch_, 0, ids, products_->columns(features_).first};
    rt_.submit(Lane::compute,
               Activate{features, std::nullopt, input(features), Activation::none, dropout});
  }
  const Tensor x = input(features), w = parameters_.weight(weight_), y = logits();
  if (keeps_aggregated()) {
    products_->transform(level(config_.layers, features_), w, y, 0);
  } else if (weights_first()) {
    products_->transform(x, w, level(0, classes_), 0);
    aggregate_all(std::nullopt, classes_, stage, epoch);
  } else {
    aggregate_all(x, features_, stage, epoch);
    products_->transform(level(config_.layers, features_), w, y, 0);
  }
  if (bias_ >= 0)
    rt_.submit(Lane::compute, Activate{y, own_columns(parameters_.weight(bias_)), y,
                                       Activation::none, std::nullopt});
  return y;
}

void Sgc::backward(const Tensor& features, int epoch, const GradientsReady& ready) {
  ORRERY_ASSERT(trains_ && "a network for inference has no backward pass");
  Tensor gradient = logits_gradient();
  rt_.phase({Stage::backward, epoch, config_.layers});
  if (bias_ >= 0) {
    const Tensor db = parameters_.gradient(bias_);
    if (columns(classes_) < classes_) rt_.submit(Lane::compute, Fill{db, 0});
    rt_.submit(Lane::compute, ColumnSum{gradient, own_columns(db), 0});
  }
  const Tensor dw = parameters_.gradient(weight_);
  if (keeps_aggregated() || !weights_first()) {
    products_->weight_gradient(level(config_.layers, features_), gradient, dw);
  } else {
    for (int l = config_.layers; l >= 1; --l) {
      rt_.phase({Stage::backward, epoch, l});
      const Tensor below = level(l - 1, classes_);
      products_->aggregate_adjoint(l, gradient, below, 0);
      if (l > 1) products_->complete_adjoint(l, below);
      gradient = below.rows_at(0, l > 1 ? products_->rows(l - 1) : below.rows());
    }
    products_->weight_gradient(input(features), gradient, dw);
  }
  if (learns_input_) learn_input(gradient, epoch);
  ready(0);
}

/// The aggregated input has given its weight gradient, so levels are free for gradients.
void Sgc::learn_input(const Tensor& gradient, int epoch) {
  ORRERY_ASSERT(!keeps_aggregated() && "features that are learned change");
  const Tensor w = parameters_.weight(weight_), dx = features_gradient();
  if (weights_first()) {
    products_->transform_adjoint(gradient, w, dx, 0);
  } else {
    Tensor above = level(config_.layers, features_).rows_at(0, products_->rows(config_.layers));
    products_->transform_adjoint(gradient, w, above, 0);
    for (int l = config_.layers; l >= 1; --l) {
      rt_.phase({Stage::backward, epoch, l});
      const Tensor below = l > 1 ? level(l - 1, features_) : dx;
      products_->aggregate_adjoint(l, above, below, 0);
      if (l > 1) products_->complete_adjoint(l, below);
      above = below.rows_at(0, products_->rows(l - 1));
    }
  }
  if (!dropout_epoch_) return;
  const Tensor ids = products_->row_ids().rows_at(0, products_->rows(0));
  rt_.submit(Lane::compute, ActivateBackward{dx, std::nullopt, dx, Activation::none,
                                             Dropout{config_.dropout, train_.seed, *dropout_epoch_,
                                                     0, ids, products_->columns(features_).first}});
}

Tensor Sgc::own_columns(const Tensor& row) const {
  const auto [first, count] = products_->columns(row.cols());
  return row.cols_at(first, count);
}

}  // namespace orrery
