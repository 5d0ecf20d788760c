// The memory that a framework with a tape takes, beyond our own buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/model_config.hpp"
#include "core/model/products.hpp"
#include "core/runtime/buffer.hpp"

namespace orrery {

/// Bytes of each thing that would stay until the backward pass has used it.
struct TapeLayer {
  int layer = 0;              ///< numbered from 1; after the last one comes what follows the layers
  std::int64_t saved = 0;     ///< operands that operations keep for their gradients
  std::int64_t received = 0;  ///< rows of other ranks, in separate buffers for every layer
};

/// Memory that a framework with automatic differentiation, without buffers that layers share
/// (PyTorch with DGL, as PipeGCN and GraNNDis use it), needs beyond ours. It is a forecast of other
/// programs, not a way to train.
///
/// A convolution with n rows in, m out, h halo rows, s rows sent, widths i → o holds these floats:
///   gcn, sage  the input with its halo rows side by side, (n + h)·i, where there is a halo; the
///              result of dropout, (n + h)·i, of which the first layer's n·i are ours, and its mask
///              in bytes; of sage (and layers that say so) the aggregated input m·i where we
///              transform first; the mean of a layer norm, m
///   resgcn+    the halo rows of the norm's input, h·i; mean and 1/deviation of all n + h rows, of
///              which we have n; the result of ReLU, and of dropout with its mask, each (n + h)·i,
///              of which we have one of n·i; the aggregated input m·i
///   dense      the result of dropout, m·i, and its mask; the mean of a layer norm, m
///   batch norm nothing: its normalised rows are ours
///   all        buffers to receive into, of every layer: (h + s)·i
/// After the layers: the result of log-softmax, m·classes; the norm of the head; gradients of the
/// two largest operands while the backward pass is there. With recompute = k the saved operands of
/// the first k layers represent those of any segment.
///
/// Source    what PyTorch saves of cat, layer_norm, relu, dropout, linear and DGL of a sum over
///           neighbours (nothing); the buffers of PipeGCN's and GraNNDis' public code, where the
///           halo is exchanged before norm, ReLU and dropout
/// Departs   structure in 64-bit numbers, the driver's context and what an allocator loses are not
///           counted
std::vector<TapeLayer> tape_of(const ModelConfig& model, const Products& products,
                               std::int64_t features, std::int64_t classes);

/// Holds this much memory as long as it lives, by layer: what is saved in the class "tape", what is
/// received in "tape halo".
std::vector<Buffer> hold_tape(Runtime& rt, const std::vector<TapeLayer>& tape);

}  // namespace orrery
