// Which timelines a run writes: a browser has to open their file.
#pragma once

#include <cstddef>
#include <vector>

#include "core/runtime/timeline.hpp"

namespace orrery {

/// As many spans and marks as a timeline.json of some 60 MB has.
inline constexpr std::size_t kMostInTimelines = 250'000;

/// The timeline of the rank `slowest`, and of as many of the first others as leave no more than
/// `most` spans and marks in all; in the order given.
std::vector<Timeline> thinned(std::vector<Timeline> all, int slowest,
                              std::size_t most = kMostInTimelines);

}  // namespace orrery
