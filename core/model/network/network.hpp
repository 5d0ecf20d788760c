// A whole network on one rank, forward and backward by hand.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model_config.hpp"
#include "core/model/parameters.hpp"
#include "core/model/products.hpp"
#include "core/model/sparse_input.hpp"

namespace orrery {

/// Declares parameters of what follows a network, which are trained with its own.
using MoreParameters = std::function<void(Parameters& parameters)>;

/// Called with the number of a parameter when its gradient and those of all after it are set.
using GradientsReady = std::function<void(int parameter)>;

/// What the training loop asks of a model, for any layers. The parameters live as long as the
/// network, the buffers from attach() to detach().
///
/// Placement activations: on each rank the rows and columns that its Products says; parameters: on
///           every rank; their gradients: this rank's part of the sum over ranks
class Network {
 public:
  virtual ~Network() = default;

  /// From now on the network works on these products: it makes its buffers, and computes what it
  /// keeps of the features meanwhile. With `sparse` that is the input, and `features` are not read.
  /// A network that is already attached releases the old products, which may no longer exist. It
  /// keeps its buffers and allocates anew those that are too small.
  ///
  /// Requires  products are not yet prepared; they and `sparse` live until the next attach() or
  ///           detach()
  virtual void attach(Products& products, const Tensor& features,
                      const SparseInput* sparse = nullptr) = 0;
  /// Frees the buffers.
  virtual void detach() = 0;

  /// Logits [rows(layers), columns(classes)]. With `dropout_epoch` dropout is on, drawn for that
  /// epoch; without it this is an evaluation. `epoch` names the phases; `stage` is forward or
  /// evaluate. A network for inference has no dropout.
  virtual Tensor forward(const Tensor& features, Stage stage, int epoch,
                         std::optional<std::uint32_t> dropout_epoch) = 0;

  /// Where the caller must write the gradient of the loss at the logits; may be the logits' own
  /// memory.
  ///
  /// Requires  a network for training
  virtual Tensor logits_gradient() const = 0;

  /// Sets all parameter gradients (this rank's part) from logits_gradient(), after a forward() with
  /// the same features. `ready` is called after every layer, from the last one down, between two
  /// phases.
  ///
  /// Requires  a network for training
  virtual void backward(const Tensor& features, int epoch, const GradientsReady& ready) = 0;

  /// After the next attach() backward() also sets features_gradient(), for features that are
  /// learned.
  ///
  /// Requires  a network for training, products with the adjoint of the first layer, and dense
  ///           features that change from step to step (FirstLayer::recompute)
  virtual void want_features_gradient() = 0;
  /// The gradient of the loss at the features (this rank's part), valid from backward() to the next
  /// forward().
  ///
  /// Shapes    [rows(0), columns(features)]
  virtual Tensor features_gradient() const = 0;

  /// The rows from which the last layer made the logits of the last forward(): h_(L−1); for SGC the
  /// aggregated features. Valid until the next call (a backward() reuses the memory). Nothing where
  /// a model has no such thing.
  ///
  /// Shapes    [rows(layers), columns(width)]
  virtual std::optional<Tensor> embeddings(const Tensor& /*features*/) const { return {}; }

  virtual Parameters& parameters() = 0;
};

/// A parameter, or what a batch norm averages ([2, width]: means, variances), as files name it.
struct NamedShape {
  std::string name;
  Shape shape;
};
/// What the rows of a model's weights and (with batch norm) of its running averages are made of, each
/// in order and row by row.
struct NamedState {
  std::vector<NamedShape> weights, averages;
};
NamedState named_state(const ModelConfig& model, std::int64_t features, std::int64_t classes);

/// `classes` is the width of the last layer. For inference there are weights alone, and no buffers
/// for gradients; `train` then says the seed that weights start from. The parameters that `more`
/// declares come after the network's; backward() leaves their gradients alone.
std::unique_ptr<Network> make_network(Runtime& rt, const ModelConfig& model,
                                      const TrainConfig& train, FirstLayer first_layer,
                                      std::int64_t features, std::int64_t classes,
                                      ModelUse use = ModelUse::training,
                                      const MoreParameters& more = {});

}  // namespace orrery
