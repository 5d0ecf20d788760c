#include "sim/price/least_seconds.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "sim/price/op_seconds.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"
#include "sim/price/profile_entry.hpp"
#include "sim/price/roofline.hpp"

namespace orrery::sim {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The longest side of a dense product is that of the vertices.
bool is_longest(const PricePoint& point, std::string_view axis) {
  const double own = point.at(axis).value_or(0);
  return std::all_of(point.begin(), point.end(), [&](const Coordinate& other) {
    return other.axis == "n16" || other.value <= own;
  });
}

/// Whether parts may lie elsewhere on the axis than the whole.
bool changes(const PricePoint& point, std::string_view axis, Division division) {
  if (axis == "threads") return false;
  if (division == Division::any) return true;
  if (axis == "n16") return changes(point, "n", division);
  if (is_one_of(axis, {"m", "n", "k"})) return is_longest(point, axis);
  return !is_one_of(axis, {"width", "heads", "columns", "ragged"});
}

/// Whether the work of parts adds up along the axis; of two that say the same, one counts.
bool is_counted(const PriceTable& table, const std::string& axis) {
  const auto has = [&](std::string_view name) {
    return std::any_of(table.axes.begin(), table.axes.end(),
                       [&](const PriceTable::Axis& other) { return other.name == name; });
  };
  if (axis == "n16" && has("n")) return false;
  if ((axis == "heads" || axis == "columns") && has("width")) return false;
  return is_work(table, axis);
}

/// The least of value / work over the grid of the axes that change, where work is the product of
/// the sizes on them that an operation takes in proportion to.
double least_of(const PriceTable& table, const Op& op, const PricePoint& point, int threads,
                Division division, bool per_work) {
  const std::size_t axes = table.axes.size();
  std::array<double, 8> at{};
  std::vector<std::size_t> free;
  for (std::size_t a = 0; a < axes; ++a) {
    const std::string& name = table.axes[a].name;
    at[a] = name == "threads" ? threads : name == "bytes" ? bytes_of(op) : point.at(name).value();
    if (changes(point, name, division)) free.push_back(a);
  }
  double whole = 1;
  if (per_work)
    for (const std::size_t a : free)
      if (is_counted(table, table.axes[a].name)) whole *= at[a];
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> index(free.size(), 0);
  for (;;) {
    double work = 1;
    for (std::size_t f = 0; f < free.size(); ++f) {
      at[free[f]] = table.axes[free[f]].points[index[f]];
      if (per_work && is_counted(table, table.axes[free[f]].name)) work *= at[free[f]];
    }
    least = std::min(least, interpolate(table, {at.data(), axes}) / work);
    std::size_t f = free.size();
    while (f > 0 && ++index[f - 1] == table.axes[free[f - 1]].points.size()) index[--f] = 0;
    if (f == 0) return least * whole;
  }
}

double roofline_bound(const Op& op, const Roofline& roofline,
                      const Roofline::Efficiency& efficiency) {
  const double flops = flops_of(op) / (roofline.flops_per_second * efficiency.flops);
  double bytes = bytes_of(op) / roofline.bytes_per_second;
  const auto gathered = [&](const GatherTraffic& traffic) {
    bytes = (traffic.memory_bytes + traffic.cache_bytes) /
            std::max(roofline.bytes_per_second, roofline.cache_bytes_per_second);
  };
  if (const auto* product = std::get_if<SpMM>(&op)) gathered(gather_traffic(*product, 0));
  if (const auto* dots = std::get_if<Sddmm>(&op)) gathered(gather_traffic(*dots, 0));
  return std::max(flops, bytes / efficiency.bytes);
}

}  // namespace

double least_seconds(const DeviceProfile& profile, const Op& op, int threads, Division division) {
  const PricePoint point = price_point(op);
  if (point.empty) return 0;
  const double factor = scale_of(profile, point.key);
  const auto table = profile.tables.find(std::string(point.key));
  if (table != profile.tables.end()) {
    const auto inside = [&](Operands operands) {
      const PriceTable* factors = factors_inside(profile, table->first, operands);
      return factors == nullptr ? 1 : least_of(*factors, op, point, threads, division, false);
    };
    return factor * std::min(inside(Operands::of_graph), inside(Operands::of_batches)) *
           least_of(table->second, op, point, threads, division, true);
  }
  const Roofline::Efficiency* efficiency = entry(profile.roofline.by_kind, point.key);
  return efficiency == nullptr ? 0 : factor * roofline_bound(op, profile.roofline, *efficiency);
}

}  // namespace orrery::sim
