// From rows of vertices to scores of pairs of them, forward and backward by hand.
#pragma once

#include <cstdint>

#include "core/model/parameters.hpp"
#include "core/runtime/buffer.hpp"
#include "core/sample/links/link_config.hpp"

namespace orrery {

/// Pairs on a device by the rows of their two ends.
///
/// Shapes    left, right [pairs, 1] i32 · at_left, at_right [pairs, rows]: one entry in each row, at
///           that end
/// Placement pairs of this rank; they name rows that are on it
struct PairEnds {
  Tensor left, right;
  Sparse at_left, at_right;
  std::int64_t pairs() const { return left.rows(); }
};

/// Scores h·w of the products h = x_left ∘ x_right, w ones (dot) or learned (distmult), or of what a
/// hidden layer makes of them (mlp).
///
/// The product of two rows is SpMM with a value for every column: the pattern picks the one row, the
/// values are the other. So pairs need no operation of their own, and none that a device profile
/// would have to price.
///
/// Placement x, scores: of this rank; parameters: on every rank
/// Memory    two buffers of [most pairs at once, width], with mlp two of [.., hidden] as well
class LinkDecoder {
 public:
  LinkDecoder(Runtime& rt, const LinkConfig& config);

  /// Declares its parameters, of layer `layer`.
  void declare(Parameters& parameters, int layer, bool decays);
  /// Makes room. `parameters` are allocated, and outlive this.
  ///
  /// Shapes    ones: of scores by dot products
  void allocate(const Parameters& parameters, std::int64_t most_pairs);

  /// scores ← those of the pairs.
  ///
  /// Shapes    x [rows, width] · scores [pairs, 1]
  void forward(const Tensor& x, const PairEnds& ends, const Tensor& scores);
  /// dx += the gradient at x; the gradients of the parameters are set, or added to with `more`.
  ///
  /// Requires  forward() with the same x and ends was the last call
  void backward(const Tensor& x, const PairEnds& ends, const Tensor& dscores, const Tensor& dx,
                bool more);

 private:
  Tensor rows(const Buffer& buffer, std::int64_t pairs, std::int64_t columns) const {
    return buffer.view(pairs, columns);
  }
  Tensor weight(int number) const { return parameters_->weight(number); }
  Tensor gradient(int number) const { return parameters_->gradient(number); }

  Runtime& rt_;
  LinkConfig config_;
  const Parameters* parameters_ = nullptr;
  int weight_ = -1;                            ///< [width or hidden, 1]; dot has ones
  int hidden_weight_ = -1, hidden_bias_ = -1;  ///< mlp
  int bias_ = -1;                              ///< mlp
  Buffer ones_, picked_, product_, hidden_, hidden_gradient_;
};

}  // namespace orrery
