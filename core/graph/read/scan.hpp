// What passes over large arrays share.
#pragma once

#include <cstdint>

#include "core/base/half.hpp"

namespace orrery {

/// Elements that are looked at together.
constexpr std::int64_t kScanBlock = std::int64_t{1} << 18;

inline float as_float(float x) { return x; }
inline float as_float(Half x) { return to_float(x); }

}  // namespace orrery
