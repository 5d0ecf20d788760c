// A whole network on one rank, forward and backward by hand.
#pragma once

#include <memory>
#include <optional>

#include "core/model/config.hpp"
#include "core/model/parameters.hpp"
#include "core/model/products.hpp"

namespace orrery {

/// What the training loop asks of a model, whatever its layers.
class Network {
 public:
  virtual ~Network() = default;

  /// Computes what is kept of the features for all epochs; once, before the first forward().
  virtual void begin(const Tensor& features) = 0;

  /// Logits [rows(layers), columns(classes)]. With `dropout_epoch` dropout is on, drawn for that
  /// epoch; without it this is an evaluation. `epoch` names the phases; `stage` is forward or
  /// evaluate.
  virtual Tensor forward(const Tensor& features, Stage stage, int epoch,
                         std::optional<std::uint32_t> dropout_epoch) = 0;

  /// Where the gradient of the loss at the logits is expected; may be the logits' own memory.
  virtual Tensor logits_gradient() const = 0;

  /// Sets all parameter gradients (this rank's part) from logits_gradient(), after a forward() with
  /// the same features.
  virtual void backward(const Tensor& features, int epoch) = 0;

  virtual Parameters& parameters() = 0;
};

/// `classes` is the width of the last layer. Requires  products are not yet prepared
std::unique_ptr<Network> make_network(Runtime& rt, Products& products, const ModelConfig& model,
                                      const TrainConfig& train, FirstLayer first_layer,
                                      std::int64_t features, std::int64_t classes);

}  // namespace orrery
