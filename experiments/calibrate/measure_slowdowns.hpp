// How much longer a kernel takes while the device also copies.
#pragma once

#include <cstdint>
#include <optional>

#include "core/runtime/execute/rank_device.hpp"

namespace orrery::calibrate {

/// Factors, at least 1, of a kernel that is bound by memory.
struct Slowdowns {
  /// Beside a copy from pinned host memory, which comes over a link; nothing where no kernel lay
  /// beside one.
  std::optional<double> by_link;
  std::optional<double> by_copy;     ///< the same beside a copy inside the device's memory
  double link_bytes_per_second = 0;  ///< of the former copy, alone
};

struct SlowdownBench {
  std::int64_t bytes = std::int64_t{256} << 20;  ///< of each operand and of each copy
  int kernels = 40;
  /// Copies go on for so many times as long as the kernels take alone.
  double longer = 3;
};

/// Bytes of Space::device that it takes.
std::int64_t bytes_needed(const SlowdownBench& bench);

/// Medians of the kernels that lie between the first copy's beginning and the last one's end, over
/// the median of those that are alone, and at least 1.
Slowdowns measure_slowdowns(const SlowdownBench& bench, RankDevice& device);

}  // namespace orrery::calibrate
