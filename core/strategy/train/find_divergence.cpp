#include "core/strategy/train/find_divergence.hpp"

#include <cmath>

#include "core/base/index.hpp"

namespace orrery {

Divergence find_divergence(Runtime& rt, const Parameters& parameters, Divergence::Of of,
                           const std::vector<int>& layers, int lowest) {
  rt.wait(Lane::copy, rt.record(Lane::compute));
  std::vector<std::shared_ptr<std::vector<float>>> values;
  for (int p = 0; p < parameters.count(); ++p) {
    values.push_back(std::make_shared<std::vector<float>>());
    const bool weights = of == Divergence::Of::weights;
    rt.submit(Lane::copy,
              Save{weights ? parameters.weight(p) : parameters.gradient(p), values.back()});
  }
  rt.sync(rt.record(Lane::copy));

  Divergence found{of, {}, {}, {}};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const int layer = lowest + static_cast<int>(l);
    const int end = l + 1 < layers.size() ? layers[l + 1] : parameters.count();
    for (int p = layers[l]; p < end; ++p)
      for (const float value : *values[at(p)]) {
        const double size = std::abs(static_cast<double>(value));
        if (!std::isfinite(size)) {
          if (!found.layer) found.layer = layer;
        } else if (!found.largest || size > *found.largest) {
          found.largest = size;
          found.largest_in = layer;
        }
      }
  }
  return found;
}

}  // namespace orrery
