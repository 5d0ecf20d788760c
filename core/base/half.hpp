// Numbers of 16 bits: IEEE binary16, "half precision".
#pragma once

#include <bit>
#include <cstdint>

namespace orrery {

/// A number of 16 bits: a sign, 5 bits of exponent, 10 of mantissa.
struct Half {
  std::uint16_t bits = 0;
};

constexpr float kLargestHalf = 65504;

/// Exact.
constexpr float to_float(Half half) {
  constexpr std::uint32_t kExponent = 0x7C00U << 13U, kRebias = (127U - 15U) << 23U;
  std::uint32_t bits = (half.bits & 0x7FFFU) << 13U;
  const std::uint32_t exponent = bits & kExponent;
  bits += kRebias;
  if (exponent == kExponent) bits += kRebias;  // infinity, or not a number
  if (exponent == 0)                           // so small that the part before the point is zero
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits + (1U << 23U)) -
                                        std::bit_cast<float>(kRebias + (1U << 23U)));
  return std::bit_cast<float>(bits | (half.bits & 0x8000U) << 16U);
}

/// The nearest one, the even one of two equally near ones; infinity beyond kLargestHalf and half a
/// step.
constexpr Half to_half(float value) {
  constexpr std::uint32_t kInfinite = 255U << 23U, kTooLarge = (127U + 16U) << 23U,
                          kSmallest = (127U - 14U) << 23U, kSteps = (127U - 1U) << 23U;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000U;
  bits ^= sign;
  std::uint32_t half = 0;
  if (bits >= kTooLarge) {
    half = bits > kInfinite ? 0x7E00U : 0x7C00U;
  } else if (bits < kSmallest) {  // the sum rounds to steps of 2^-24
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + std::bit_cast<float>(kSteps)) -
           kSteps;
  } else {
    const std::uint32_t odd = bits >> 13U & 1U;
    half = (bits - ((127U - 15U) << 23U) + 0xFFFU + odd) >> 13U;
  }
  return {static_cast<std::uint16_t>(half | sign >> 16U)};
}

}  // namespace orrery
