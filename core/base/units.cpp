#include "core/base/units.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace orrery {
namespace {

template <std::size_t N>
std::string scaled(double value, double base, const std::array<const char*, N>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= base && unit + 1 < N) {
    value /= base;
    ++unit;
  }
  if (unit == 0 && value == std::floor(value)) return fmt::format("{:.0f}{}", value, units[0]);
  const int decimals = std::abs(value) < 10 ? 2 : 1;
  return fmt::format("{:.{}f}{}", value, decimals, units[unit]);
}

}  // namespace

std::string human_bytes(double bytes) {
  return scaled<6>(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"});
}

std::string human_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (std::abs(seconds) < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string human_count(double count) {
  return scaled<6>(count, 1000, {"", " k", " M", " G", " T", " P"});
}

std::string human_rate(double bytes_per_second) { return human_count(bytes_per_second) + "B/s"; }

std::string human_percent(double share, int decimals) {
  return fmt::format("{:.{}f} %", 100 * share, decimals);
}

}  // namespace orrery
