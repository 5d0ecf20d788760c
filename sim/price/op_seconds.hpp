// The price of an operation on a device, by its profile.
#pragma once

#include "core/ops/ops.hpp"
#include "sim/price/profile.hpp"

namespace orrery::sim {

/// Where the operands of an operation come from: those of sampled batches lie in other caches.
enum class Operands { of_graph, of_batches };

/// Seconds of a local operation (no collective), alone on the device, with this many threads if the
/// device is a CPU.
///
/// Errors    Uncalibrated naming the operation and the profile
double op_seconds(const DeviceProfile& profile, const Op& op, int threads,
                  Operands operands = Operands::of_graph);

/// The factors of operations inside of a training by the price key of their table; null: none are known.
const PriceTable* factors_inside(const DeviceProfile& profile, const std::string& key,
                                 Operands operands);

}  // namespace orrery::sim
