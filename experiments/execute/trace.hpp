// Timelines as Chrome trace JSON, for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/runtime/timeline.hpp"

namespace orrery {

/// One process per rank with a row per lane, in the order of the lanes, and a counter of its device
/// bytes. A mark says where an epoch begins on each rank. Arrows lead from the sending rank to the
/// receiving ones. In a collective between more than four ranks in which all send, they lead from
/// each rank to the next of its group. Arrows need the timelines of both ends.
///
/// `about`: what the file says about itself ("otherData"), besides its epochs.
///
/// Units     microseconds, to the nanosecond: spans of a lane that meet end and begin at the same
///           one, as Perfetto reads it, which drops those that overlap in part
std::string chrome_trace(const std::vector<Timeline>& timelines,
                         const nlohmann::ordered_json& about);

}  // namespace orrery
