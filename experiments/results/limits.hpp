// What limited a run, by a stated rule from its result.
#pragma once

#include <nlohmann/json.hpp>

namespace orrery {

/// {"part", "share", "sentence"}; null if a result has no breakdown.
///
/// Rule      Of the exposed parts of the epoch (Measurement::breakdown) the largest limits the run; the
///           three kinds of communication count as one part. Compute: the kind of operation with
///           most busy seconds is named. Communication: its kinds and, where a simulation knows
///           them, the busiest link. Other: the rank waited for its host, for hand-overs or for
///           other ranks. Beside it: ranks that compute unequally (most over mean above 1.1), and
///           memory above 0.9 of the device.
nlohmann::ordered_json limited_by(const nlohmann::ordered_json& result);

}  // namespace orrery
