// How much longer a kernel takes while the device also copies.
#pragma once

#include <cstdint>
#include <optional>

#include "core/runtime/execute/rank_device.hpp"

namespace orrery::calibrate {

/// Factors, at least 1, for a kernel that memory limits.
struct Slowdowns {
  /// Beside a copy from pinned host memory over a link; empty if no kernel ran beside one.
  std::optional<double> by_link;
  std::optional<double> by_copy;     ///< the same beside a copy inside the device's memory
  double link_bytes_per_second = 0;  ///< of the former copy, alone
};

struct SlowdownBench {
  std::int64_t bytes = std::int64_t{256} << 20;  ///< of each operand and of each copy
  int kernels = 40;
  /// Copies last this many times as long as the kernels alone.
  double longer = 3;
};

/// Bytes of Space::device that it takes.
std::int64_t bytes_needed(const SlowdownBench& bench);

/// Medians of the kernels between the start of the first copy and the end of the last, over the
/// median of those alone, and at least 1.
Slowdowns measure_slowdowns(const SlowdownBench& bench, RankDevice& device);

}  // namespace orrery::calibrate
