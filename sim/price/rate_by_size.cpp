#include "sim/price/rate_by_size.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::sim {

double RateBySize::interpolated(double bytes) const {
  const auto above = std::upper_bound(points.begin(), points.end(), bytes,
                                      [](double b, const Point& point) { return b < point.bytes; });
  if (above == points.begin()) return above->bytes_per_second;
  const Point& low = *(above - 1);
  if (above == points.end()) return low.bytes_per_second;
  const double share = std::log(bytes / low.bytes) / std::log(above->bytes / low.bytes);
  return low.bytes_per_second * std::pow(above->bytes_per_second / low.bytes_per_second, share);
}

}  // namespace orrery::sim
