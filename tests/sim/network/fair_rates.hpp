// Fair shares by the book.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sim/network/interconnect.hpp"

namespace orrery::sim {

/// Max-min fair rates by progressive filling: all unfrozen flows grow alike until a capacity is
/// full, whose flows are frozen then.
inline std::vector<double> fair_rates(const InterconnectPlan& plan,
                                      const std::vector<int>& connections) {
  std::vector<double> left = plan.bytes_per_second, rate(connections.size(), 0);
  std::vector<bool> frozen(connections.size(), false);
  const auto uses = [&](std::size_t flow, std::size_t capacity) {
    const auto& list = plan.connections[static_cast<std::size_t>(connections[flow])].capacities;
    return std::find(list.begin(), list.end(), static_cast<int>(capacity)) != list.end();
  };
  for (;;) {
    double growth = std::numeric_limits<double>::infinity();
    std::size_t full = 0;
    for (std::size_t c = 0; c < left.size(); ++c) {
      int users = 0;
      for (std::size_t f = 0; f < rate.size(); ++f) users += !frozen[f] && uses(f, c) ? 1 : 0;
      if (users > 0 && left[c] / users < growth) {
        growth = left[c] / users;
        full = c;
      }
    }
    if (growth == std::numeric_limits<double>::infinity()) return rate;
    for (std::size_t f = 0; f < rate.size(); ++f) {
      if (frozen[f]) continue;
      rate[f] += growth;
      for (std::size_t c = 0; c < left.size(); ++c)
        if (uses(f, c)) left[c] -= growth;
    }
    for (std::size_t f = 0; f < rate.size(); ++f)
      if (uses(f, full)) frozen[f] = true;
  }
}

}  // namespace orrery::sim
