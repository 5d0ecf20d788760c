// Numbers of 16 bits.
#include "core/base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// The value by the definition of binary16.
double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10U & 31U, mantissa = bits & 1023U;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Half, EveryOneIsTheNumberThatItsBitsSayAndBackAgain) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double want = value_of(half.bits);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(to_float(half)));
      EXPECT_TRUE(std::isnan(to_float(to_half(to_float(half)))));
      continue;
    }
    ASSERT_EQ(static_cast<double>(to_float(half)), want) << bits;
    ASSERT_EQ(to_half(to_float(half)).bits, half.bits) << bits;
  }
}

/// A number becomes the nearer of the two halves around it; if both are as near, the even one.
TEST(Half, IsTheNearestOne) {
  const auto expect_nearest = [](float x) {
    const Half got = to_half(x);
    const double distance = std::abs(value_of(got.bits) - static_cast<double>(x));
    for (const int step : {-1, 1}) {
      const auto other = static_cast<std::uint16_t>(got.bits + step);
      if ((got.bits & 0x7FFFU) == 0 && step < 0) continue;
      // The number after the largest half stands for 2^16.
      const double there =
          (other & 0x7FFFU) == 0x7C00U ? std::copysign(65536.0, x) : value_of(other);
      const double other_distance = std::abs(there - static_cast<double>(x));
      ASSERT_LE(distance, other_distance) << x;
      if (distance == other_distance) {
        ASSERT_EQ(got.bits % 2, 0) << x;
      }
    }
  };
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto here = static_cast<std::uint16_t>(bits), next = static_cast<std::uint16_t>(bits + 1);
    expect_nearest(static_cast<float>((value_of(here) + value_of(next)) / 2));
  }
  Sequence draws(3, Purpose::features, 0);
  for (int i = 0; i < 20000; ++i)
    expect_nearest(static_cast<float>(
        std::ldexp(2 * draws.uniform() - 1, static_cast<int>(draws.below(44)) - 28)));
  EXPECT_EQ(to_half(65519.9F).bits, 0x7BFF);
  EXPECT_EQ(to_half(65520.0F).bits, 0x7C00);
  EXPECT_EQ(to_half(-1e30F).bits, 0xFC00);
}

}  // namespace
}  // namespace orrery
