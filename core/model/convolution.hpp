// Graph convolutions: one layer's linear part, forward and backward, in terms of Products.
#pragma once

#include <memory>
#include <optional>

#include "core/model/config.hpp"
#include "core/model/parameters.hpp"
#include "core/model/products.hpp"

namespace orrery {

/// What the layers of one model share.
struct LayerContext {
  Runtime& rt;
  Products& products;
  Parameters& parameters;
  /// One product's intermediate at a time, of the narrower of a layer's two widths; alive only
  /// within a call.
  Buffer scratch;
};

/// Layer `layer` (from 1), widths in → out. A convolution multiplies by W before or after A,
/// whichever makes the aggregated matrix narrower: before it when in >= out.
class Convolution {
 public:
  Convolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out)
      : c_(context), layer_(layer), in_(in), out_(out) {}
  virtual ~Convolution() = default;

  /// Allocates what forward() keeps for backward().
  virtual void allocate();
  /// y ← conv(x).   Shapes  x [rows(layer − 1), in] · y [rows(layer), out]
  virtual void forward(const Tensor& x, const Tensor& y) = 0;
  /// Sets the weight gradients (this rank's part) and, when asked, dx ← the gradient at x.
  /// Requires  x as given to forward();  Aliasing  dx may share memory with dy if
  /// backward_in_place()
  virtual void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) = 0;
  virtual bool backward_in_place() const = 0;

 protected:
  bool transform_first() const { return in_ >= out_; }
  std::int64_t rows_in() const { return c_.products.rows(layer_ - 1); }
  std::int64_t rows_out() const { return c_.products.rows(layer_); }

  LayerContext& c_;
  int layer_;
  std::int64_t in_, out_;
  Buffer aggregated_;  ///< A·x, kept for the weight gradient when A comes first: [rows(layer), in]
};

/// y = A·x·W.   Source  Kipf and Welling 2017
std::unique_ptr<Convolution> make_gcn_convolution(LayerContext& context, int layer, std::int64_t in,
                                                  std::int64_t out, bool decays);

/// y = x·W₁ + A·x·W₂, A the mean over in-neighbours.   Source  Hamilton et al. 2017, the mean
/// variant, without the final normalisation
std::unique_ptr<Convolution> make_sage_convolution(LayerContext& context, int layer,
                                                   std::int64_t in, std::int64_t out, bool decays);

}  // namespace orrery
