// Vectors of floats for one instruction set (ORRERY_ISA names it; the compiler flags make it so).
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orrery::cpu::ORRERY_ISA {

/// Floats in a register, and how many registers a kernel may use as accumulators.
#if defined(__AVX512F__)
constexpr int kLanes = 16, kAccumulators = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8, kAccumulators = 8;
#else
constexpr int kLanes = 4, kAccumulators = 8;
#endif
constexpr std::int64_t kFloatsPerLine = 16;  // of the cache

template <int lanes>
struct VectorOf {
  typedef float type __attribute__((vector_size(lanes * sizeof(float))));
};
template <>
struct VectorOf<1> {
  using type = float;
};
template <int lanes>
using Vector = typename VectorOf<lanes>::type;

/// A vector of as many integers of 32 bits.
template <int lanes>
struct IntegersOf {
  typedef std::int32_t type __attribute__((vector_size(lanes * sizeof(std::int32_t))));
};
template <>
struct IntegersOf<1> {
  using type = std::int32_t;
};

template <int lanes>
inline Vector<lanes> load(const float* from) {
  Vector<lanes> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <int lanes>
inline void store(float* to, Vector<lanes> v) {
  std::memcpy(to, &v, sizeof v);
}

/// Writes past the caches if the instruction set can; `to` is aligned to the vector.
template <int lanes>
inline void stream(float* to, Vector<lanes> v) {
#if defined(__AVX512F__)
  if constexpr (lanes == 16) return _mm512_stream_ps(to, v);
#endif
#if defined(__AVX__)
  if constexpr (lanes == 8) return _mm256_stream_ps(to, v);
#endif
#if defined(__SSE__)
  if constexpr (lanes == 4) return _mm_stream_ps(to, v);
#endif
  store<lanes>(to, v);
}

/// Makes streamed rows visible to other threads before the range counts as done.
inline void finish_stream() {
#if defined(__SSE__)
  _mm_sfence();
#endif
}

/// Prefetches the cache lines of `count` floats into the second-level cache.
inline void prefetch(const float* first, std::int64_t count) {
  for (std::int64_t c = 0; c < count; c += kFloatsPerLine) __builtin_prefetch(first + c, 0, 2);
}

/// Σ of the lanes, always in the same order.
inline float sum_of(Vector<kLanes> v) {
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += v[lane];
  return sum;
}

inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

}  // namespace orrery::cpu::ORRERY_ISA
