// Sampled dense-dense product: a row of x stays near while rows of z are prefetched, as in the
// sparse-dense product beside this file.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// How far ahead of their use columns are prefetched.
constexpr std::int64_t kEdgesAhead = 256;

/// The lower half of a vector plus the upper one.
template <int lanes>
inline Vector<lanes / 2> folded(Vector<lanes> v) {
  if constexpr (lanes == 2) {
    return v[0] + v[1];
  } else {
    Vector<lanes / 2> halves[2];
    std::memcpy(halves, &v, sizeof v);
    return halves[0] + halves[1];
  }
}

/// Σ x[c]·z[c] + Σ of the lanes of `sum`: columns that fill no whole vector go to shorter ones.
template <int lanes>
inline float dot(const float* x, const float* z, std::int64_t count, Vector<lanes> sum) {
  for (; count >= lanes; count -= lanes, x += lanes, z += lanes)
    sum += load<lanes>(x) * load<lanes>(z);
  if constexpr (lanes == 1)
    return sum;
  else
    return dot<lanes / 2>(x, z, count, folded<lanes>(sum));
}

/// Two vectors whose lanes are sums of `group` neighbours each, as one of half as many neighbours:
/// those of a, then those of b.
template <int lanes, int group>
inline Vector<lanes> merged(Vector<lanes> a, Vector<lanes> b) {
  typename IntegersOf<lanes>::type low, high;
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    const int in_vector = i % (lanes / 2) / (group / 2) * group + i % (group / 2);
    low[i] = in_vector + (i < lanes / 2 ? 0 : lanes);
    high[i] = low[i] + group / 2;
  }
  return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
}

/// to[i] ← Σ of the lanes of sums[i], all together, in a fraction of the steps.
template <int lanes, int group, int count>
inline void sums_of(Vector<lanes>* sums, float* to) {
  if constexpr (count > 1) {
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i)
      sums[i] = merged<lanes, group>(sums[2 * i], sums[2 * i + 1]);
    sums_of<lanes, group / 2, count / 2>(sums, to);
  } else if constexpr (group > 1) {
    sums[0] = merged<lanes, group>(sums[0], sums[0]);  // the sums twice
    sums_of<lanes, group / 2, 1>(sums, to);
  } else {
    std::memcpy(to, sums, sizeof(Vector<lanes>));
  }
}

/// The dots of several heads with `vectors` vectors each; prefetches the same columns of `later`.
template <int lanes, int vectors, int heads>
inline void dots_together(const float* x, const float* z, const float* later, float* dots) {
  constexpr int all = heads * vectors;
  prefetch(later, all * lanes);
  Vector<lanes> sums[heads] = {};
#pragma GCC unroll 32
  for (int v = 0; v < all; ++v)
    sums[v / vectors] += load<lanes>(x + v * lanes) * load<lanes>(z + v * lanes);
  float together[lanes];
  sums_of<lanes, lanes, heads>(sums, together);
  std::memcpy(dots, together, heads * sizeof(float));
}

/// Those of all heads of an entry: eight at a time while that many are left, then half as many, and
/// so on.
template <int lanes, int vectors, int heads>
inline void dots_of_entry(const float* x, const float* z, const float* later, float* dots,
                          std::int64_t left) {
  constexpr std::int64_t columns = heads * vectors * lanes;
  for (; left >= heads; left -= heads, x += columns, z += columns, later += columns, dots += heads)
    dots_together<lanes, vectors, heads>(x, z, later, dots);
  if constexpr (heads > 1) dots_of_entry<lanes, vectors, heads / 2>(x, z, later, dots, left);
}

/// Vectors with this many lanes; a head fills at least one. `vectors` > 0: exactly this many, so
/// that their loop is unrolled. Not inlined, so that each form has all registers for its loops.
template <int lanes, int vectors>
[[gnu::noinline]] void rows(const SddmmArgs& args, std::int64_t begin, std::int64_t end) {
  constexpr int together = lanes < 8 ? lanes : 8;  // heads
  const SddmmArgs a = args;                        // a copy, so that no store to dots can change it
  const std::int64_t columns = a.width / a.heads;
  const std::int64_t rows_ahead = larger(8, smaller(64, 2048 / larger(1, a.width)));
  const std::int64_t first = a.offsets[begin],
                     unasked = smaller(first + rows_ahead, a.offsets[end]);
  for (std::int64_t e = first; e < unasked; ++e)  // rows that no edge before has prefetched
    prefetch(a.z.row(a.columns[e]), a.width);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = a.x.row(r);
    for (std::int64_t e = a.offsets[r]; e < a.offsets[r + 1]; ++e) {
      __builtin_prefetch(a.columns + smaller(e + kEdgesAhead, a.last_edge));
      const float* later = a.z.row(a.columns[smaller(e + rows_ahead, a.last_edge)]);
      const float* z = a.z.row(a.columns[e]);
      float* dots = a.dots + e * a.heads;
      if constexpr (vectors > 0) {
        dots_of_entry<lanes, vectors, together>(x, z, later, dots, a.heads);
      } else {
        prefetch(later, a.width);
        for (std::int64_t k = 0; k < a.heads; ++k)
          dots[k] = dot<lanes>(x + k * columns, z + k * columns, columns, Vector<lanes>{});
      }
    }
  }
}

/// Heads of fewer columns than a vector has use shorter vectors.
template <int lanes>
void dispatch(const SddmmArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t columns = args.width / args.heads;
  if constexpr (lanes > 1)
    if (columns < lanes) return dispatch<lanes / 2>(args, begin, end);
  if (columns == lanes) return rows<lanes, 1>(args, begin, end);
  if (columns == 2 * lanes) return rows<lanes, 2>(args, begin, end);
  if (columns == 4 * lanes) return rows<lanes, 4>(args, begin, end);
  rows<lanes, 0>(args, begin, end);
}

}  // namespace

void sddmm(const SddmmArgs& args, std::int64_t begin, std::int64_t end) {
  dispatch<kLanes>(args, begin, end);
}

}  // namespace orrery::cpu::ORRERY_ISA
