// Buffers that live across structures: they are allocated anew only if they are too small.
#pragma once

#include <string_view>

#include "core/runtime/buffer.hpp"

namespace orrery {

/// Makes room for as many elements as `shape` has. A buffer with enough room stays. Otherwise it is
/// freed, and a new one of that shape replaces it. Use its elements through Buffer::view().
inline void make_fit(Runtime& rt, Buffer& buffer, Shape shape, std::string_view name,
                     DType dtype = DType::f32) {
  if (buffer && buffer.tensor().shape.size() >= shape.size()) return;
  buffer = {};
  buffer = Buffer(rt, shape, dtype, name);
}

}  // namespace orrery
