// Lists of indices on a device.
#pragma once

#include <string_view>

#include "core/runtime/buffer.hpp"
#include "core/strategy/structure/index_list.hpp"

namespace orrery {

/// Loads a list as [n, 1] i32 on the copy lane.
inline Buffer load_indices(Runtime& rt, const IndexList& list, std::string_view name) {
  Buffer buffer(rt, {list.size(), 1}, DType::i32, name);
  rt.submit(Lane::copy, Load{list.source(), buffer.tensor()});
  return buffer;
}

}  // namespace orrery
