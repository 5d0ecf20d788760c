#include "experiments/bench/bench_bounds.hpp"

#include <algorithm>
#include <atomic>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#define ORRERY_EVERY_ISA \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ORRERY_EVERY_ISA
#endif

namespace orrery {
namespace {

typedef float Line __attribute__((vector_size(64), aligned(4)));
constexpr std::int64_t kLineFloats = 16;

struct Edges {
  const Vertex* columns;
  std::int64_t begin, end, last;
};

template <int lines>
[[gnu::always_inline]] inline float sum_rows(const Edges& edges, const float* x) {
  constexpr std::int64_t width = lines * kLineFloats;
  constexpr std::int64_t ahead = std::clamp<std::int64_t>(4096 / width, 8, 64);
  Line sum[lines] = {};
  for (std::int64_t e = edges.begin; e < std::min(edges.begin + ahead, edges.end); ++e)
    for (int l = 0; l < lines; ++l)
      __builtin_prefetch(x + edges.columns[e] * width + l * kLineFloats, 0, 2);
  for (std::int64_t e = edges.begin; e < edges.end; ++e) {
    __builtin_prefetch(edges.columns + std::min(e + 256, edges.last));
    const float* next = x + edges.columns[std::min(e + ahead, edges.last)] * width;
    for (int l = 0; l < lines; ++l) __builtin_prefetch(next + l * kLineFloats, 0, 2);
    const float* row = x + edges.columns[e] * width;
    for (int l = 0; l < lines; ++l) sum[l] += *reinterpret_cast<const Line*>(row + l * kLineFloats);
  }
  Line all = {};
  for (int l = 0; l < lines; ++l) all += sum[l];
  float total = 0;
  for (int i = 0; i < kLineFloats; ++i) total += all[i];
  return total;
}

ORRERY_EVERY_ISA float sum_rows_of(const Edges& edges, const float* x, std::int64_t width) {
  switch (width) {
    case 16:
      return sum_rows<1>(edges, x);
    case 48:
      return sum_rows<3>(edges, x);
    case 64:
      return sum_rows<4>(edges, x);
    case 128:
      return sum_rows<8>(edges, x);
    default:
      return sum_rows<16>(edges, x);
  }
}

}  // namespace

void stream_triad(std::int64_t n, float* a, const float* b, const float* c) {
  parallel_for(n, std::int64_t{1} << 18, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t i = begin;
#if defined(__x86_64__)
    const __m128 factor = _mm_set1_ps(3);
    for (; i + 4 <= end; i += 4)
      _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(factor, _mm_load_ps(c + i))));
    _mm_sfence();
#endif
    for (; i < end; ++i) a[i] = b[i] + 3 * c[i];
  });
}

float gather_rows_only(const std::vector<Vertex>& columns, const float* x, std::int64_t width) {
  ORRERY_ASSERT(width == 16 || width == 48 || width == 64 || width == 128 || width == 256);
  const auto edges = static_cast<std::int64_t>(columns.size());
  std::atomic<float> total = 0;
  parallel_for(edges, (std::int64_t{1} << 21) / width, [&](std::int64_t begin, std::int64_t end) {
    total += sum_rows_of({columns.data(), begin, end, edges - 1}, x, width);
  });
  return total;
}

}  // namespace orrery
