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

/// A lower bound of the seconds of a local operation that is cut into parts: those of all parts
/// together, each alone on its device. It takes the work at the best rate that the profile has
/// anywhere for operations of these widths. A table is looked up at all points of the axes that the
/// division changes; between them rates are no better. A roofline counts flops and bytes, without
/// launches and without rows that others wait for, and every byte of a gather at the rate of the
/// cache. 0 if the profile has no price.
///
/// Requires  parts that together hold every row and entry
double least_seconds(const DeviceProfile& profile, const Op& op, int threads, Division division);

}  // namespace orrery::sim
