#include "sim/price/host_seconds.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/base/error.hpp"

namespace orrery::sim {
namespace {

std::string known_kinds(const DeviceProfile& profile) {
  std::vector<std::string> kinds;
  for (const auto& [kind, price] : profile.host) kinds.push_back(kind);
  return kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace

double host_seconds(const DeviceProfile& profile, std::string_view kind, double items, double bytes,
                    int threads) {
  ORRERY_ASSERT(items >= 0 && bytes >= 0 && threads >= 1);
  const auto found = profile.host.find(std::string(kind));
  if (found == profile.host.end())
    throw Uncalibrated(
        fmt::format("device profile \"{}\" has no price for host tasks \"{}\": give it "
                    "host.kinds.{}, or calibrate (it has {})",
                    profile.name, kind, kind, known_kinds(profile)));
  const HostPrice& price = found->second;
  double core_seconds = items * price.seconds_per_item;
  if (price.bytes_per_second > 0) core_seconds += bytes / price.bytes_per_second;
  const auto scale = profile.scale.find(std::string(kind));
  return (scale == profile.scale.end() ? 1 : scale->second) *
         (price.launch_seconds + core_seconds / (1 + (threads - 1) * price.thread_efficiency));
}

}  // namespace orrery::sim
