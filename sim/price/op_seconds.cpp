#include "sim/price/op_seconds.hpp"

#include <fmt/core.h>

#include <array>

#include "core/base/error.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"
#include "sim/price/profile_entry.hpp"
#include "sim/price/roofline.hpp"

namespace orrery::sim {
namespace {

double look_up(const PriceTable& table, const Op& op, const PricePoint& point, int threads) {
  std::array<double, 8> at{};
  std::size_t axes = 0;
  for (const PriceTable::Axis& axis : table.axes)
    at[axes++] = axis.name == "threads" ? threads
                 : axis.name == "bytes" ? bytes_of(op)
                                        : point.at(axis.name).value();
  return interpolate(table, {at.data(), axes});
}

}  // namespace

const PriceTable* factors_inside(const DeviceProfile& profile, const std::string& key,
                                 Operands operands) {
  if (operands == Operands::of_batches)
    if (const auto found = profile.in_batches.find(key); found != profile.in_batches.end())
      return &found->second;
  const auto found = profile.in_place.find(key);
  return found == profile.in_place.end() ? nullptr : &found->second;
}

double op_seconds(const DeviceProfile& profile, const Op& op, int threads, Operands operands) {
  const PricePoint point = price_point(op);
  double factor = scale_of(profile, point.key);
  const auto table = profile.tables.find(std::string(point.key));
  const Roofline::Efficiency* efficiency = entry(profile.roofline.by_kind, point.key);
  if (table == profile.tables.end() && efficiency == nullptr)
    throw Uncalibrated(
        fmt::format("device profile \"{}\" has no price for {}: give it a table or an efficiency "
                    "of \"{}\", or calibrate",
                    profile.name, to_string(op), point.key));
  if (point.empty) return factor * profile.roofline.launch_seconds;
  if (table != profile.tables.end()) {
    if (const PriceTable* inside = factors_inside(profile, table->first, operands))
      factor *= look_up(*inside, op, point, threads);
    return factor * look_up(table->second, op, point, threads);
  }
  return factor * roofline_seconds(op, profile.roofline, *efficiency);
}

}  // namespace orrery::sim
