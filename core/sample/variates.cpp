#include "core/sample/variates.hpp"

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orrery {
namespace {

/// Variates that are computed together, without a rest that would be computed one by one.
constexpr std::uint32_t kAtOnce = 16;

typedef std::uint64_t Entries __attribute__((vector_size(8 * sizeof(std::uint64_t))));

[[gnu::always_inline]] inline std::uint32_t collect(const Variates& key, std::uint32_t bound,
                                                    const Vertex* vertices, std::uint32_t count,
                                                    std::uint64_t* found) {
  std::uint32_t many = 0;
  for (std::uint32_t first = 0; first < count; first += kAtOnce) {
    const std::uint32_t n = count - first < kAtOnce ? count - first : kAtOnce;
    std::array<Vertex, kAtOnce> block{};
    std::memcpy(block.data(), vertices + first, n * sizeof(Vertex));
    std::array<std::uint32_t, kAtOnce> values;
    for (std::uint32_t i = 0; i < kAtOnce; ++i) values[i] = key.of(block[i]);
    for (std::uint32_t i = 0; i < n; ++i) {  // without branches
      found[many] = std::uint64_t{values[i]} << 32U | (first + i);
      many += values[i] <= bound ? 1 : 0;
    }
  }
  return many;
}

/// places[i] ← how many of the entries are less than entry i. Reads and writes whole blocks of eight.
[[gnu::always_inline]] inline void count_less(const std::uint64_t* entries, std::uint32_t many,
                                              std::uint64_t* places) {
  for (std::uint32_t first = 0; first < many; first += 8) {
    Entries mine, less = {};
    std::memcpy(&mine, entries + first, sizeof mine);
    for (std::uint32_t j = 0; j < many; ++j) less += (entries[j] < mine) & 1U;
    std::memcpy(places + first, &less, sizeof less);
  }
}

void count_less_baseline(const std::uint64_t* entries, std::uint32_t many, std::uint64_t* places) {
  count_less(entries, many, places);
}

std::uint32_t collect_baseline(const Variates& key, std::uint32_t bound, const Vertex* vertices,
                               std::uint32_t count, std::uint64_t* found) {
  return collect(key, bound, vertices, count, found);
}

#if defined(__x86_64__)
// The baseline has no product of four 32-bit numbers; the same source gives the same variates.
[[gnu::target("avx2")]] void count_less_avx2(const std::uint64_t* entries, std::uint32_t many,
                                             std::uint64_t* places) {
  count_less(entries, many, places);
}

[[gnu::target("avx512f,prefer-vector-width=512")]] void count_less_avx512(
    const std::uint64_t* entries, std::uint32_t many, std::uint64_t* places) {
  count_less(entries, many, places);
}

[[gnu::target("avx2")]] std::uint32_t collect_avx2(const Variates& key, std::uint32_t bound,
                                                   const Vertex* vertices, std::uint32_t count,
                                                   std::uint64_t* found) {
  return collect(key, bound, vertices, count, found);
}

typedef std::uint32_t Words __attribute__((vector_size(16 * sizeof(std::uint32_t))));
typedef std::uint32_t HalfWords __attribute__((vector_size(8 * sizeof(std::uint32_t))));
/// Appends value << 32 | index of those of eight lanes that the mask has.
[[gnu::target("avx512f")]] inline void append(const std::uint32_t* values,
                                              const std::uint32_t* indices, unsigned mask,
                                              std::uint64_t* found, std::uint32_t& many) {
  HalfWords high, low;
  std::memcpy(&high, values, sizeof high);
  std::memcpy(&low, indices, sizeof low);
  const Entries entries =
      __builtin_convertvector(high, Entries) << 32U | __builtin_convertvector(low, Entries);
  const __m512i chosen = _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), (__m512i)entries);
  std::memcpy(found + many, &chosen, sizeof chosen);
  many += static_cast<std::uint32_t>(__builtin_popcount(mask));
}

[[gnu::target("avx512f")]] std::uint32_t collect_avx512(const Variates& key, std::uint32_t bound,
                                                        const Vertex* vertices, std::uint32_t count,
                                                        std::uint64_t* found) {
  const Words most = Words{} + bound;
  Words indices = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  std::uint32_t many = 0;
  for (std::uint32_t first = 0; first < count; first += 16) {
    const std::uint32_t n = count - first;
    const auto there = static_cast<__mmask16>(n >= 16 ? 0xFFFFU : (1U << n) - 1U);
    auto x = (Words)_mm512_maskz_loadu_epi32(there, vertices + first);
    to_variates(x, key.first, key.second);
    const unsigned chosen = _mm512_mask_cmple_epu32_mask(there, (__m512i)x, (__m512i)most);
    if (chosen != 0) {
      std::uint32_t values[16], places[16];
      std::memcpy(values, &x, sizeof values);
      std::memcpy(places, &indices, sizeof places);
      append(values, places, chosen & 0xFFU, found, many);
      append(values + 8, places + 8, chosen >> 8U, found, many);
    }
    indices += 16;
  }
  return many;
}

#endif

const VariateLoops& fastest() {
  static const VariateLoops here = variate_loops().back();
  return here;
}

}  // namespace

std::vector<VariateLoops> variate_loops() {
  std::vector<VariateLoops> loops{{"baseline", collect_baseline, count_less_baseline}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) loops.push_back({"avx2", collect_avx2, count_less_avx2});
  if (__builtin_cpu_supports("avx512f") != 0)
    loops.push_back({"avx512", collect_avx512, count_less_avx512});
#endif
  return loops;
}

std::uint32_t Variates::below(std::uint32_t bound, const Vertex* vertices, std::uint32_t count,
                              std::uint64_t* found) const {
  return fastest().below(*this, bound, vertices, count, found);
}

void Variates::places_of(const std::uint64_t* entries, std::uint32_t many, std::uint64_t* places) {
  fastest().places_of(entries, many, places);
}

}  // namespace orrery
