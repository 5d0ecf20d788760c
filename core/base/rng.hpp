// Counter-based random numbers: every draw is a pure function of (seed, purpose, counter), never of
// thread, rank or call order. Generator: Philox4x32-10 of Random123; the mappings to ranges are
// ours, because the standard library's distributions are not fixed across implementations.
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace orrery {

/// What the numbers are for; two purposes never share a counter.
enum class Purpose : std::uint32_t {
  weights = 1,
  dropout,
  split,
  permutation,
  partition,
  features,
  labels,
  edges,
  degrees,
  sampler,
  boundary,
  edge_numbers,
  variation,
};

/// 128 random bits for (seed, purpose, a, b, c).
inline std::array<std::uint32_t, 4> random_bits(std::uint64_t seed, Purpose purpose,
                                                std::uint32_t a, std::uint32_t b = 0,
                                                std::uint32_t c = 0) {
  const r123::Philox4x32::key_type key{
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}};
  const r123::Philox4x32::ctr_type counter{{a, b, c, static_cast<std::uint32_t>(purpose)}};
  const auto out = r123::Philox4x32{}(counter, key);
  return {out[0], out[1], out[2], out[3]};
}

/// A separate seed for draw (a, b) of a purpose, if its counters are needed for other things.
inline std::uint64_t derived_seed(std::uint64_t seed, Purpose purpose, std::uint32_t a,
                                  std::uint32_t b = 0) {
  const auto bits = random_bits(seed, purpose, a, b);
  return (static_cast<std::uint64_t>(bits[0]) << 32U) | bits[1];
}

/// [0, 1) with 24 bits, exact in float.
inline float uniform_float(std::uint32_t bits) {
  return static_cast<float>(bits >> 8U) * 0x1.0p-24F;
}

/// [0, 1) with 53 bits.
inline double uniform_double(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32U) | low;
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

__extension__ using Uint128 = unsigned __int128;

/// {0, ..., n-1}; bias below n / 2^64.
inline std::uint64_t uniform_below(std::uint32_t high, std::uint32_t low, std::uint64_t n) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32U) | low;
  return static_cast<std::uint64_t>((static_cast<Uint128>(bits) * n) >> 64U);
}

/// Standard normal by Box-Muller from two words.
inline float normal_float(std::uint32_t u, std::uint32_t v) {
  const double radius = std::sqrt(-2.0 * std::log((static_cast<double>(u) + 1.0) * 0x1.0p-32));
  return static_cast<float>(radius *
                            std::cos(6.283185307179586 * static_cast<double>(v) * 0x1.0p-32));
}

/// A sequence for code that is serial within one block of work: block `a` of (seed, purpose), in
/// order.
class Sequence {
 public:
  Sequence(std::uint64_t seed, Purpose purpose, std::uint32_t a, std::uint32_t b = 0)
      : seed_(seed), purpose_(purpose), a_(a), b_(b) {}
  std::uint32_t word() {
    if (used_ == 4) {
      bits_ = random_bits(seed_, purpose_, a_, b_, next_++);
      used_ = 0;
    }
    return bits_[used_++];
  }
  double uniform() {
    const auto high = word();
    return uniform_double(high, word());
  }
  std::uint64_t below(std::uint64_t n) {
    const auto high = word();
    return uniform_below(high, word(), n);
  }

 private:
  std::uint64_t seed_;
  Purpose purpose_;
  std::uint32_t a_, b_, next_ = 0;
  std::array<std::uint32_t, 4> bits_{};
  unsigned used_ = 4;
};

}  // namespace orrery
