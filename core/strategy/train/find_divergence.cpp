#include "core/strategy/train/find_divergence.hpp"

#include <cmath>
#include <memory>
#include <vector>

namespace orrery {

Divergence find_divergence(Runtime& rt, const Parameters& parameters, Divergence::Of of) {
  struct Row {
    int layer;
    std::shared_ptr<std::vector<float>> values;
  };
  std::vector<Row> rows;
  rt.wait(Lane::copy, rt.record(Lane::compute));
  const auto take = [&](const Tensor& tensor, int layer) {
    rows.push_back({layer, std::make_shared<std::vector<float>>()});
    rt.submit(Lane::copy, Save{tensor, rows.back().values});
  };
  const bool weights = of == Divergence::Of::weights;
  for (int p = 0; p < parameters.count(); ++p)
    take(weights ? parameters.weight(p) : parameters.gradient(p), parameters.layer_of(p));
  for (int a = 0; weights && a < parameters.count_of_averages(); ++a)
    take(parameters.averages(a), parameters.layer_of_averages(a));
  rt.sync(rt.record(Lane::copy));

  Divergence found{of, {}, {}, {}};
  for (const Row& row : rows)
    for (const float value : *row.values) {
      const double size = std::abs(static_cast<double>(value));
      if (!std::isfinite(size)) {
        if (!found.layer || row.layer < *found.layer) found.layer = row.layer;
      } else if (!found.largest || size > *found.largest) {
        found.largest = size;
        found.largest_in = row.layer;
      }
    }
  return found;
}

}  // namespace orrery
