// Copies and sums between the memories of ranks, for communicators that reach both.
#pragma once

#include <cstdint>
#include <span>

#include "core/ops/tensor.hpp"

namespace orrery {

/// Moves the contents of tensors, in the order of one lane. Nothing is certain to be done before
/// settle() returns.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// to ← Σ parts, each of n elements (f32 or f64), summed in their order, so that every world of
  /// the same size gives the same bits.
  ///
  /// Aliasing  `to` may be one of the parts
  virtual void sum(DType dtype, std::span<const void* const> parts, void* to, std::int64_t n) = 0;
  /// Blocks until everything issued to the lane is done.
  virtual void settle() = 0;
};

/// For tensors that this process reads and writes itself.
Mover& host_mover();

}  // namespace orrery
