// Which timelines a run writes: a browser must be able to open their file.
#pragma once

#include <cstddef>
#include <vector>

#include "core/runtime/timeline.hpp"

namespace orrery {

/// The number of spans and marks in a timeline.json of some 60 MB, and of some 17 MB for a simulation
/// of more than kMostTracedRanks.
constexpr std::size_t most_in_timelines(int ranks, bool simulated) {
  return simulated && ranks > kMostTracedRanks ? 110'000 : 250'000;
}

/// The timeline of the rank `slowest`, and of the first other ranks, with at most `most` spans and
/// marks in all; in the given order.
std::vector<Timeline> thinned(std::vector<Timeline> all, int slowest, std::size_t most);

}  // namespace orrery
