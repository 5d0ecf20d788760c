// Readable numbers with their units.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

/// "0 B", "812 B", "4.1 KiB", "1.5 GiB": powers of 1024, exact below 1 KiB.
std::string human_bytes(double bytes);
inline std::string human_bytes(std::int64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

/// "12.3 ms", "4.56 s", "780 µs".
std::string human_seconds(double seconds);

/// "1.2 k", "34.5 M", "6.7 G": a count or a rate, powers of 1000.
std::string human_count(double count);

/// "34.5 MB/s": bytes per second.
std::string human_rate(double bytes_per_second);

/// "12 %" of the share 0.123, "12.3 %" with one decimal.
std::string human_percent(double share, int decimals = 0);

}  // namespace orrery
