// What stands for nothing in lists of numbers.
#pragma once

#include <cstdint>

namespace orrery {

/// No vertex, no cluster, no part.
inline constexpr std::int32_t kNone = -1;

}  // namespace orrery
