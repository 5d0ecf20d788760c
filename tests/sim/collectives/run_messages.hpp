// Runs messages on links that never share: each takes alpha + bytes / rate.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/collectives/expansion.hpp"

namespace orrery::sim::test {

struct Times {
  std::vector<double> start, end;  ///< of each message
  double last = 0;
};

/// All ranks come at 0.
inline Times run_messages(const Expansion& e, double alpha, double rate) {
  Times t;
  for (const Message& m : e.messages) {
    double start = 0, not_before = 0;
    const auto passes_on = [&](std::int32_t on) {
      const auto a = static_cast<std::size_t>(on);
      start = std::max(start, t.start[a] + alpha + std::min(m.chunk, e.messages[a].bytes) / rate);
      not_before = std::max(not_before, t.end[a] + alpha);
    };
    if (m.streams >= 0) passes_on(m.streams);
    for (int k = 0; k < m.waits; ++k) {
      const std::int32_t on = e.waits[static_cast<std::size_t>(m.first_wait + k)];
      if (k >= m.waits - m.streamed_waits)
        passes_on(on);
      else
        start = std::max(start, t.end[static_cast<std::size_t>(on)]);
    }
    t.start.push_back(start);
    t.end.push_back(std::max(start + alpha + m.bytes / rate, not_before));
    t.last = std::max(t.last, t.end.back());
  }
  return t;
}

/// The most messages that are under way at one time among those that `counts` accepts.
template <class Counts>
int most_at_once(const Expansion& e, const Times& t, const Counts& counts) {
  int most = 0;
  for (std::size_t m = 0; m < e.messages.size(); ++m) {
    if (!counts(e.messages[m])) continue;
    int now = 0;  // when m starts
    for (std::size_t k = 0; k < e.messages.size(); ++k)
      if (counts(e.messages[k]) && t.start[k] <= t.start[m] + 1e-12 &&
          t.end[k] > t.start[m] + 1e-12)
        ++now;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace orrery::sim::test
