// The trainable parameters of a model: one flat buffer each for weights, gradients and the
// optimiser's state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/model_config.hpp"
#include "core/runtime/buffer.hpp"

namespace orrery {

/// Whether a model is trained, or only computed with, which needs neither gradients nor the
/// optimiser's state.
enum class ModelUse : std::uint8_t { training, inference };

/// All parameters lie in one allocation, so that gradients are averaged by one all-reduce.
///
/// Placement all of them on every rank
class Parameters {
 public:
  /// Initial value of a parameter: uniform in ±limit, or `value` if limit is 0.
  struct Start {
    float limit = 0;
    double value = 0;
  };
  /// Glorot's uniform limit sqrt(6 / (fan_in + fan_out)).
  static Start glorot(std::int64_t fan_in, std::int64_t fan_out);

  /// Parameters declared from now on belong to this layer, in the numbering of phases.
  void begin_layer(int layer) {
    declared_in_ = layer;
    prefix_.clear();
  }

  /// Roles of parameters that are declared from now on begin with this.
  void begin_part(std::string prefix) { prefix_ = std::move(prefix); }

  /// Declares one before allocate(); `decays` says whether weight decay applies. `role` is its name
  /// within its layer, for files; two of the same are numbered. Returns its number.
  int add(Shape shape, Start start, bool decays, std::string_view role = "weight");

  /// Declares the running averages for `width` columns, before allocate(): means, which start at 0,
  /// and variances, which start at 1. Columns are normalised by them outside of training. They have
  /// no gradients. Returns their number.
  int add_averages(std::int64_t width);

  /// Allocates and initialises; the draws depend only on the seed and the parameter's number. For
  /// inference there are only weights.
  void allocate(Runtime& rt, const TrainConfig& config, ModelUse use = ModelUse::training);

  Tensor weight(int number) const { return window(weights_.tensor(), number); }
  /// Requires  parameters for training
  Tensor gradient(int number) const { return window(gradients(), number); }
  /// All weights as one row.
  Tensor weights() const { return weights_.tensor(); }
  /// All gradients as one row.
  ///
  /// Requires  parameters for training
  Tensor gradients() const {
    ORRERY_ASSERT(gradients_ && "parameters for inference have no gradients");
    return gradients_.tensor();
  }
  /// The gradients of parameters first, ..., last − 1 as one row.
  ///
  /// Requires  parameters for training
  Tensor gradients(int first, int last) const {
    return gradients().cols_at(offset(first), offset(last) - offset(first));
  }
  /// Shapes    [2, width]: means, variances
  Tensor averages(int number) const;
  /// Number of averages.
  int count() const { return static_cast<int>(entries_.size()); }
  int count_of_averages() const { return static_cast<int>(averaged_.size()); }
  Shape shape_of(int number) const { return entries_[at(number)].shape; }
  /// "layers.1.weight": by layer and role, of its own; with several of a role "weight", "weight_2".
  std::string name_of(int number) const;
  /// The layer of a parameter.
  int layer_of(int number) const { return entries_[at(number)].layer; }
  int layer_of_averages(int number) const { return averaged_[at(number)].layer; }
  /// Swaps the weight and gradient buffers, so that weights computed into the gradient buffer can
  /// be evaluated. Call it again to undo.
  void swap_weights_and_gradients() { std::swap(weights_, gradients_); }

  /// Weights and moments of another model of the same shapes.
  struct State {
    Buffer weights, first_moment, second_moment;
  };
  /// A copy of this one's, on the compute lane.
  State copy_of_state(Runtime& rt) const;
  void swap_state(State& other);

  /// The whole state of training: all weights, then the optimiser's moments if it has any, then the
  /// running averages if there are any, each as one row.
  std::vector<Tensor> state() const;

  /// What a model is without its training: all weights, then the running averages where there are
  /// any, each as one row.
  std::vector<Tensor> model() const;

  /// One optimiser step on all parameters, with the learning rate of the epoch; `step` counts from 1.
  ///
  /// Requires  parameters for training
  void update(Runtime& rt, const TrainConfig& config, int epoch, int step) const;

 private:
  struct Entry {
    Shape shape;
    Start start;
    bool decays;
    std::int64_t offset;
    int layer;
    std::string role;
  };
  struct Averages {
    std::int64_t width, offset;
    int layer;
  };
  Tensor window(const Tensor& flat, int number) const;
  /// Where a parameter begins; for the number after the last one: the end.
  std::int64_t offset(int number) const;

  std::vector<Entry> entries_;
  std::int64_t size_ = 0;  // elements
  std::vector<Averages> averaged_;
  std::int64_t averaged_size_ = 0;       // elements
  int declared_in_ = 0;                  // layer
  std::string prefix_;                   ///< of roles
  Buffer averages_;                      // set if there are any
  Buffer weights_, gradients_;           // gradients only in training
  Buffer first_moment_, second_moment_;  // only in training with Adam
};

}  // namespace orrery
