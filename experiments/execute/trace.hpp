// Timelines as Chrome trace JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "core/runtime/timeline.hpp"

namespace orrery {

/// One process per rank, one row per lane, one counter of its device bytes.
///
/// Units     microseconds, to the nanosecond: spans of a lane that meet end and begin at the same
///           one, as Perfetto reads it, which drops those that overlap in part
std::string chrome_trace(const std::vector<Timeline>& timelines);

}  // namespace orrery
