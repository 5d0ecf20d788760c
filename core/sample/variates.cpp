#include "core/sample/variates.hpp"

#include <algorithm>
#include <limits>

namespace orrery {
namespace {

[[gnu::always_inline]] inline std::uint32_t fill(const Variates& key, const Vertex* vertices,
                                                 std::uint32_t count, std::uint32_t* variates) {
  std::uint32_t lowest = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t i = 0; i < count; ++i) {
    variates[i] = key.of(vertices[i]);
    lowest = std::min(lowest, variates[i]);
  }
  return lowest;
}

using Fill = std::uint32_t (*)(const Variates&, const Vertex*, std::uint32_t, std::uint32_t*);

std::uint32_t fill_baseline(const Variates& key, const Vertex* vertices, std::uint32_t count,
                            std::uint32_t* variates) {
  return fill(key, vertices, count, variates);
}

#if defined(__x86_64__)
// The baseline has no product of four 32-bit numbers; the same source gives the same variates.
[[gnu::target("avx2")]] std::uint32_t fill_avx2(const Variates& key, const Vertex* vertices,
                                                std::uint32_t count, std::uint32_t* variates) {
  return fill(key, vertices, count, variates);
}

[[gnu::target("avx512f,prefer-vector-width=512")]] std::uint32_t fill_avx512(
    const Variates& key, const Vertex* vertices, std::uint32_t count, std::uint32_t* variates) {
  return fill(key, vertices, count, variates);
}

Fill widest() {
  if (__builtin_cpu_supports("avx512f") != 0) return fill_avx512;
  return __builtin_cpu_supports("avx2") != 0 ? fill_avx2 : fill_baseline;
}
#else
Fill widest() { return fill_baseline; }
#endif

}  // namespace

std::uint32_t Variates::of(const Vertex* vertices, std::uint32_t count,
                           std::uint32_t* variates) const {
  static const Fill chosen = widest();
  return chosen(*this, vertices, count, variates);
}

}  // namespace orrery
