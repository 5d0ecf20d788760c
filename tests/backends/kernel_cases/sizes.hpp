// The sizes at which kernels are tried: about the widths of vectors, of packs of two and four
// floats and of groups of lanes; no rows, one, few, and many.
#pragma once

#include <array>
#include <cstdint>

namespace orrery::testing {

inline constexpr std::array<std::int64_t, 12> kWidths{1,  3,  7,   8,   16,  17,
                                                      33, 64, 100, 128, 256, 257};
inline constexpr std::array<std::int64_t, 4> kRows{0, 1, 5, 333};
inline constexpr std::array kBetas{0.0F, 1.0F, 0.5F};
inline constexpr std::array kEither{false, true};
/// Columns between the rows of windows: with 4, rows begin where packs of four may.
inline constexpr std::array<std::int64_t, 2> kGaps{1, 4};

}  // namespace orrery::testing
