// Looks up a table of measured times between and beyond its points.
#pragma once

#include <span>
#include <string>

#include "sim/price/profile.hpp"

namespace orrery::sim {

/// Whether time grows in proportion to a size on this axis beyond the largest point.
bool is_work(const PriceTable& table, const std::string& axis);

/// Seconds at a point of the axes' space: multilinear in the logarithms of sizes and seconds, which
/// is exact where time is a product of powers of the sizes.
///
/// Beyond the largest point of an axis that is work, time grows in proportion. On other axes, and
/// below the smallest point of any, it is that of the nearest point. These axes are not work:
/// threads, bytes, reuse_bytes, skew and ragged, and the width if there is a size.
///
/// Shapes    at [axes], in the order of the table's axes
/// Requires  a table without a problem
double interpolate(const PriceTable& table, std::span<const double> at);

/// The fault of a table for operations of `key`: an unknown axis, points that do not ascend, a
/// number of seconds that is not the product of the axes' lengths, ...; empty if there is none.
std::string problem_of(const PriceTable& table, const std::string& key);

}  // namespace orrery::sim
