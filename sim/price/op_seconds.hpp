// The price of an operation on a device, by its profile.
#pragma once

#include "core/ops/ops.hpp"
#include "sim/price/profile.hpp"

namespace orrery::sim {

/// Seconds of a local operation (no collective), alone on the device, with this many threads if the
/// device is a CPU.
///
/// Errors    Uncalibrated naming the operation and the profile
double op_seconds(const DeviceProfile& profile, const Op& op, int threads);

}  // namespace orrery::sim
