// The median of what was measured several times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace orrery {

/// The upper one of two in the middle.
///
/// Requires  values
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace orrery
