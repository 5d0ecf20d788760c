// What an operation costs at least when ranks divide it among them, however unequally.
#pragma once

#include "core/ops/ops.hpp"
#include "sim/price/profile.hpp"

namespace orrery::sim {

/// How an operation on all vertices is divided.
enum class Division {
  by_rows,  ///< each has some of the vertices, or of the entries; widths stay
  any       ///< widths too
};

/// Less than or as much as the seconds of all parts together, alone on their devices, into which a
/// local operation is cut: its work at the best rate that the profile has anywhere for operations of
/// its widths. A table is looked up at all points of the axes that the division changes, between
/// which rates are no better; of a roofline flops and bytes count, and no launch, no row that others
/// wait for, and every byte of a gather at the rate of the cache. 0 where the profile has no price.
///
/// Requires  parts that together hold every row and entry
double least_seconds(const DeviceProfile& profile, const Op& op, int threads, Division division);

}  // namespace orrery::sim
