#include "core/model/convolution.hpp"

#include <fmt/core.h>

namespace orrery {

void Convolution::allocate() {
  if (!transform_first())
    aggregated_ = Buffer(c_.rt, {rows_out(), in_}, DType::f32,
                         fmt::format("activations/aggregated input of layer {}", layer_));
}

}  // namespace orrery
