#include "sim/price/price_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "sim/price/price_point.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kMostAxes = 8;

/// The position of a value on an axis.
struct Place {
  std::size_t below = 0;  ///< the last point that is not above it
  double share = 0;       ///< fraction of the way to the next point, in logarithms
  double growth = 1;      ///< beyond the largest point
};

Place place_on(const PriceTable& table, const PriceTable::Axis& axis, double value) {
  const auto& points = axis.points;
  if (value <= points.front()) return {};
  if (value >= points.back())
    return {points.size() - 1, 0, is_work(table, axis.name) ? value / points.back() : 1};
  const auto above = std::upper_bound(points.begin(), points.end(), value);
  const double low = *(above - 1);
  return {static_cast<std::size_t>(above - points.begin()) - 1,
          std::log(value / low) / std::log(*above / low)};
}

}  // namespace

bool is_work(const PriceTable& table, const std::string& axis) {
  if (axis == "width")
    return std::none_of(table.axes.begin(), table.axes.end(),
                        [](const PriceTable::Axis& a) { return a.name == "size"; });
  return axis != "threads" && axis != "bytes" && axis != "reuse_bytes" && axis != "skew" &&
         axis != "ragged";
}

double interpolate(const PriceTable& table, std::span<const double> at) {
  const std::size_t axes = table.axes.size();
  ORRERY_ASSERT(at.size() == axes && axes <= kMostAxes);
  std::array<Place, kMostAxes> places;
  double growth = 1;
  for (std::size_t a = 0; a < axes; ++a) {
    places[a] = place_on(table, table.axes[a], at[a]);
    growth *= places[a].growth;
  }
  double log_seconds = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << axes); ++corner) {
    double weight = 1;
    std::size_t index = 0;
    for (std::size_t a = 0; a < axes && weight > 0; ++a) {
      const bool upper = (corner >> a & 1U) != 0;
      weight *= upper ? places[a].share : 1 - places[a].share;
      index = index * table.axes[a].points.size() + places[a].below + (upper ? 1 : 0);
    }
    if (weight > 0) log_seconds += weight * std::log(table.seconds[index]);
  }
  return growth * std::exp(log_seconds);
}

std::string problem_of(const PriceTable& table, const std::string& key) {
  if (table.axes.empty() || table.axes.size() > kMostAxes)
    return fmt::format("found {} axes, expected 1 to {}", table.axes.size(), kMostAxes);
  std::size_t size = 1;
  std::set<std::string> seen;
  for (const PriceTable::Axis& axis : table.axes) {
    if (!has_axis(key, axis.name)) return fmt::format("{} has no axis \"{}\"", key, axis.name);
    if (!seen.insert(axis.name).second) return fmt::format("axis \"{}\" is there twice", axis.name);
    if (axis.points.empty() || axis.points.front() <= 0 ||
        std::adjacent_find(axis.points.begin(), axis.points.end(), std::greater_equal<>()) !=
            axis.points.end())
      return fmt::format("points of \"{}\" must be positive and ascend", axis.name);
    size *= axis.points.size();
  }
  if (table.seconds.size() != size)
    return fmt::format("found {} seconds, expected {}, one per point of the grid",
                       table.seconds.size(), size);
  for (const double seconds : table.seconds)
    if (!(seconds > 0) || !std::isfinite(seconds)) return "seconds must be positive";
  return "";
}

}  // namespace orrery::sim
