// The time of a host's task.
#pragma once

#include <string_view>

#include "sim/price/profile.hpp"

namespace orrery::sim {

/// Seconds of a host task with this many threads and cores of its own, by HostPrice and the
/// profile's scale of its kind.
///
/// Requires  items, bytes >= 0; threads >= 1
/// Errors    Uncalibrated: the profile has no price for the kind; the message names the key
double host_seconds(const DeviceProfile& profile, std::string_view kind, double items, double bytes,
                    int threads);

}  // namespace orrery::sim
