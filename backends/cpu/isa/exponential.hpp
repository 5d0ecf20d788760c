// The exponential of numbers that are not positive, of one or of a vector of them.
#pragma once

#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {

/// exp(x) for x <= 0 to 2 ulp, 0 below −87; no branch and no call, so that loops over it vectorise.
///
/// Rule      x = n·ln 2 + r with |r| <= ln 2 / 2; exp(r) by its Taylor series to r^7 / 7!, times
///           2^n
template <int lanes>
inline Vector<lanes> exp_of_negative(Vector<lanes> x) {
  using Floats = Vector<lanes>;
  using Integers = typename IntegersOf<lanes>::type;
  const Floats bounded = x < -87.0F ? Floats{} - 87.0F : x;
  const float rounder = 12582912.0F;  // 1.5·2^23: adding it rounds to an integer
  const Floats n = (bounded * 1.44269504F + rounder) - rounder;
  const Floats r = (bounded - n * 0.693359375F) + n * 2.12194440e-4F;
  Floats p = Floats{} + 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  Integers exponent;
  if constexpr (lanes == 1)
    exponent = (static_cast<std::int32_t>(n) + 127) << 23;
  else
    exponent = (__builtin_convertvector(n, Integers) + 127) << 23;
  Floats power;
  std::memcpy(&power, &exponent, sizeof power);
  return x < -87.0F ? Floats{} : p * power;
}

}  // namespace orrery::cpu::ORRERY_ISA
