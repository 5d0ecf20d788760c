// Buffers that go on from one structure to the next: made anew only where they are too small.
#pragma once

#include <string_view>

#include "core/runtime/buffer.hpp"

namespace orrery {

/// Makes room for as many elements as `shape` has. A buffer that has room stays as it is, else a
/// new one of that shape takes its place, after the old one has gone. Its elements are used through
/// Buffer::view().
inline void make_fit(Runtime& rt, Buffer& buffer, Shape shape, std::string_view name,
                     DType dtype = DType::f32) {
  if (buffer && buffer.tensor().shape.size() >= shape.size()) return;
  buffer = {};
  buffer = Buffer(rt, shape, dtype, name);
}

}  // namespace orrery
