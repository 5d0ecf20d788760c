// Philox4x32-10 for many counters at once, bit for bit what Random123 computes for each.
#pragma once

#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {

constexpr int kDraws = 16;

/// First two words of the counters; the other two are the same for all.
struct PhiloxCounters {
  alignas(64) std::uint64_t row[kDraws];
  alignas(64) std::uint64_t block[kDraws];
};

/// One word of the state per 64-bit lane, in its low half; the high half may hold anything.
typedef std::uint64_t Words __attribute__((vector_size(kLanes * 4)));
constexpr int kWords = kLanes / 2;

/// Products of the low halves of the lanes.
inline Words wide_product(Words x, Words y) {
#if defined(__AVX512F__)
  return (Words)_mm512_maskz_mul_epu32(0xFF, (__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
  return (Words)_mm256_mul_epu32((__m256i)x, (__m256i)y);
#elif defined(__SSE2__)
  return (Words)_mm_mul_epu32((__m128i)x, (__m128i)y);
#else
  return (x & 0xFFFFFFFFU) * (y & 0xFFFFFFFFU);
#endif
}

/// Which lanes of two vectors stand beside each other, from this one on: one of the first, the same
/// of the second, the next of the first.
inline Words side_by_side(int first) {
  Words lanes = {};
  for (int i = 0; i < kWords; ++i)
    lanes[i] = static_cast<std::uint64_t>(first + i / 2 + (i % 2) * kWords);
  return lanes;
}

/// The 128 bits of each counter as eight 16-bit numbers, low half of each word first.
inline void philox(const PhiloxCounters& counters, std::uint32_t word2, std::uint32_t word3,
                   std::uint32_t key_low, std::uint32_t key_high, std::uint16_t (&out)[kDraws][8]) {
  const Words first_factor = Words{} + 0xD2511F53U, second_factor = Words{} + 0xCD9E8D57U;
  constexpr int kChains = 2;  // at a time: a round of one waits for its products
  for (int draw = 0; draw < kDraws; draw += kChains * kWords) {
    Words a[kChains], b[kChains], c[kChains], d[kChains];
    for (int i = 0; i < kChains; ++i) {
      std::memcpy(a + i, counters.row + draw + i * kWords, sizeof a[i]);
      std::memcpy(b + i, counters.block + draw + i * kWords, sizeof b[i]);
      c[i] = Words{} + word2;
      d[i] = Words{} + word3;
    }
    std::uint32_t low = key_low, high = key_high;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kChains; ++i) {
        const Words p = wide_product(a[i], first_factor), q = wide_product(c[i], second_factor);
        a[i] = (q >> 32U) ^ b[i] ^ low;
        b[i] = q;
        c[i] = (p >> 32U) ^ d[i] ^ high;
        d[i] = p;
      }
      low += 0x9E3779B9U;
      high += 0xBB67AE85U;
    }
    for (int i = 0; i < kChains; ++i) {
      const Words ab = (a[i] & 0xFFFFFFFFU) | (b[i] << 32U);
      const Words cd = (c[i] & 0xFFFFFFFFU) | (d[i] << 32U);
      const Words both[2] = {__builtin_shuffle(ab, cd, side_by_side(0)),
                             __builtin_shuffle(ab, cd, side_by_side(kWords / 2))};
      std::memcpy(out + draw + i * kWords, both, sizeof both);
      static_assert(sizeof both == kWords * sizeof out[0] &&
                    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    }
  }
}

}  // namespace orrery::cpu::ORRERY_ISA
