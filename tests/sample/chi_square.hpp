// Whether counts are as often as they should be.
#pragma once

#include <boost/math/special_functions/gamma.hpp>
#include <cstdint>
#include <vector>

namespace orrery::testing {

/// The sum of (count − mean)² / mean of counts that have the same mean.
inline double chi_square(const std::vector<std::int64_t>& counts) {
  double sum = 0, squares = 0;
  for (const std::int64_t count : counts) sum += static_cast<double>(count);
  const double mean = sum / static_cast<double>(counts.size());
  for (const std::int64_t count : counts)
    squares += (static_cast<double>(count) - mean) * (static_cast<double>(count) - mean) / mean;
  return squares;
}

/// The probability that a chi-square value with this many degrees of freedom is as large or larger.
inline double p_value(double chi_square, double degrees) {
  return boost::math::gamma_q(degrees / 2, chi_square / 2);
}

}  // namespace orrery::testing
