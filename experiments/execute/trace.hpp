// Timelines as Chrome trace JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "core/runtime/timeline.hpp"

namespace orrery {

/// One process per rank, one row per lane, one counter of its device bytes. Times in microseconds.
std::string chrome_trace(const std::vector<Timeline>& timelines);

}  // namespace orrery
