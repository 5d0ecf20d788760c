// Graph convolutions: one layer's linear part, forward and backward, in terms of Products.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "core/model/model_config.hpp"
#include "core/model/parameters.hpp"
#include "core/model/products.hpp"
#include "core/model/sparse_input.hpp"

namespace orrery {

/// What the layers of one model share.
///
/// Placement tensors: of one rank; parameters: on every rank
struct LayerContext {
  Runtime& rt;
  Products* products;  ///< the products that the model is attached to
  Parameters& parameters;
  FirstLayer first_layer = FirstLayer::exact;
  bool constant_input = false;  ///< the first layer gets the same rows in every epoch
  /// The input of the first layer, if it is not dense rows.
  ///
  /// Requires  a layer that multiplies by W first
  const SparseInput* sparse_input = nullptr;
  LayerOrder order = LayerOrder::automatic;
  /// The intermediate of one product at a time, as wide as scratch_width() of its layer; valid only
  /// within a call.
  Buffer scratch{};
  const ModelConfig* model = nullptr;
  std::uint64_t seed = 0;
  bool trains = true;           ///< or for inference: backward() is never called
  bool input_gradient = false;  ///< backward() of the first layer must also give dx
  /// The epoch of the draws in this forward pass; nothing: layers drop nothing.
  std::optional<std::uint32_t> draws{};
  /// For what is inside one layer at a time; valid only within a call of backward().
  Buffer inner_gradient{};
  /// Numbers of one layer's edges at a time, valid only within a call.
  Buffer edge_scratch{}, more_edge_scratch{};
};

/// Layer `layer` (from 1), widths in → out. A convolution multiplies by W before or after A, as
/// LayerOrder says. A first layer that keeps its aggregated input multiplies that by W. One with a
/// sparse input multiplies it by W first, and its x is not read.
///
/// Placement x, y: rows of this rank, as Products says; weights: on every rank; weight gradients:
///           this rank's part of the sum over ranks
class Convolution {
 public:
  Convolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out)
      : c_(context), layer_(layer), in_(in), out_(out) {}
  virtual ~Convolution() = default;

  /// Makes room for what forward() keeps for backward(), if there is none yet.
  virtual void allocate();
  virtual void release() { aggregated_ = {}; }
  /// The first layer's aggregated input is computed once, by keep_aggregated(), and for all epochs.
  bool keeps_aggregated() const {
    return layer_ == 1 && c_.constant_input && c_.first_layer == FirstLayer::exact && !sparse() &&
           c_.order != LayerOrder::transform_first;
  }
  /// Columns that are multiplied by A at a time; 0: none.
  virtual std::int64_t aggregated_width() const {
    if (keeps_aggregated()) return std::min(in_, out_);  // in slabs
    if (aggregates_both()) return std::max(in_, out_);
    return transform_first() ? out_ : in_;
  }
  /// Columns that it needs of LayerContext::scratch. A first layer that aggregates its wide input
  /// and passes no gradient down needs none.
  virtual std::int64_t scratch_width() const {
    const bool passes_none = layer_ == 1 && !c_.input_gradient && !aggregates_both();
    return passes_none && aggregated_width() > out_ ? 0 : aggregated_width();
  }
  /// Columns of this rank in it. A rank may have more columns of a narrower matrix than of a wide one.
  std::int64_t local_scratch() const {
    const std::int64_t columns = local(scratch_width());
    if (columns == 0 || !aggregates_both()) return columns;
    return std::max({columns, local(in_), local(out_)});
  }
  /// How many of LayerContext::edge_scratch and more_edge_scratch it needs, and their number of
  /// elements.
  struct EdgeScratch {
    int buffers = 0;
    std::int64_t elements = 0;
  };
  virtual EdgeScratch edge_scratch() const { return {}; }
  /// Requires  keeps_aggregated();  slab: room for [rows(1), min(in, out)]
  virtual void keep_aggregated(const Tensor& x, const Buffer& slab);
  /// y ← conv(x).
  ///
  /// Shapes    x [inputs(layer), in] · y [rows(layer), out]
  virtual void forward(const Tensor& x, const Tensor& y) = 0;
  /// Whether forward_in_place() works, with Products that take one matrix as operand and result.
  virtual bool has_in_place() const { return false; }
  /// What forward() computes, in the first columns of `rows`, whose first `in` columns are x.
  ///
  /// Shapes    rows [rows(layer), max(in, out)]
  /// Requires  has_in_place(), inputs(layer) = rows(layer)
  virtual void forward_in_place(const Tensor& /*rows*/) {}
  /// Sets the weight gradients (this rank's part) and, when asked, dx ← the gradient at x.
  ///
  /// Requires  x as given to forward()
  /// Aliasing  dx may share memory with dy if backward_in_place()
  virtual void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) = 0;
  virtual bool backward_in_place() const = 0;

 protected:
  bool sparse() const { return layer_ == 1 && c_.sparse_input != nullptr; }
  /// y ← x·w + beta·y, for as many rows of the input as y has.
  void transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) const;
  /// dw ← xᵀ·dy, for as many rows of the input as dy has.
  void weight_gradient(const Tensor& x, const Tensor& dy, const Tensor& dw) const;
  bool transform_first() const {
    return !keeps_aggregated() && transforms_first(c_.order, in_, out_, c_.products->in_blocks());
  }
  /// Whether the backward pass multiplies by Aᵀ first, so that A·x is not kept for it.
  bool aggregates_both() const {
    return !keeps_aggregated() && c_.order == LayerOrder::aggregate_both;
  }
  /// The weight gradient leaves out A (see FirstLayer).
  bool inexact() const { return c_.first_layer == FirstLayer::mggcn_compat; }
  /// Columns of this rank in a matrix as wide as the layer's input or output.
  std::int64_t local(std::int64_t width) const { return c_.products->columns(width).count; }
  std::int64_t rows_in() const { return c_.products->inputs(layer_); }
  std::int64_t rows_out() const { return c_.products->rows(layer_); }

  LayerContext& c_;
  int layer_;
  std::int64_t in_, out_;
  /// A·x, kept for the weight gradient if A comes first, or for all epochs.
  ///
  /// Shapes    [rows(layer), local(in)]
  Tensor aggregated() const { return aggregated_.view(rows_out(), local(in_)); }

 private:
  Buffer aggregated_;
};

/// A layer without A, y = x·W: the dense layers after the graph convolutions of a model.
std::unique_ptr<Convolution> make_dense_layer(LayerContext& context, int layer, std::int64_t in,
                                              std::int64_t out, bool decays);

/// A graph convolution with `inner_layers` dense layers of its width inside, with a ReLU before
/// each. The model adds what follows a layer, such as its bias and ReLU.
///
/// Requires  model.inner_layers >= 1, a convolution of the same layer and widths that the context
///           has made last
/// Source    Song et al. 2021, Network In Graph Neural Network (NGNN)
std::unique_ptr<Convolution> make_nested_layer(std::unique_ptr<Convolution> convolution,
                                               LayerContext& context, int layer, std::int64_t in,
                                               std::int64_t out, const ModelConfig& model,
                                               bool decays);

}  // namespace orrery
