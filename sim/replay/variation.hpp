// Operations take longer and shorter than their prices, on each rank at other times: who waits for others
// waits for the one that happens to be last.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/rng.hpp"

namespace orrery::sim {

/// A factor on the seconds of a rank's item of a lane: log-normal, of mean 1, with `share` as its standard
/// deviation. It is a function of its arguments.
inline double variation_factor(double share, int rank, int lane, std::uint32_t item) {
  const auto bits = random_bits(0, Purpose::variation, static_cast<std::uint32_t>(rank),
                                static_cast<std::uint32_t>(lane), item);
  const double variance = std::log1p(share * share);
  return std::exp(std::sqrt(variance) * normal_float(bits[0], bits[1]) - variance / 2);
}

}  // namespace orrery::sim
