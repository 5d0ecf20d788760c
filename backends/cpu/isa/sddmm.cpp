// Sampled dense-dense product: a row of x stays near while rows of z are fetched ahead, as in the
// sparse-dense product beside this file.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// How far ahead of their use columns are fetched.
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

/// Σ x[c]·z[c] + Σ of the lanes of `sum`: what no whole vector is left for goes to shorter ones.
template <int lanes>
inline float dot(const float* x, const float* z, std::int64_t count, Vector<lanes> sum) {
  for (; count >= lanes; count -= lanes, x += lanes, z += lanes)
    sum += load<lanes>(x) * load<lanes>(z);
  if constexpr (lanes == 1)
    return sum;
  else
    return dot<lanes / 2>(x, z, count, folded<lanes>(sum));
}

/// Vectors of so many lanes, of which a head fills one at least. `vectors` > 0: so many and no
/// more, so that their loop is unrolled.
template <int lanes, int vectors>
void rows(const SddmmArgs& args, std::int64_t begin, std::int64_t end) {
  const SddmmArgs a = args;  // a copy, so that no store to dots can change it
  const std::int64_t columns = a.width / a.heads;
  const std::int64_t rows_ahead = larger(8, smaller(64, 2048 / larger(1, a.width)));
  const std::int64_t first = a.offsets[begin],
                     unasked = smaller(first + rows_ahead, a.offsets[end]);
  for (std::int64_t e = first; e < unasked; ++e)  // rows that no edge before asked for
    prefetch(a.z.row(a.columns[e]), a.width);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = a.x.row(r);
    for (std::int64_t e = a.offsets[r]; e < a.offsets[r + 1]; ++e) {
      __builtin_prefetch(a.columns + smaller(e + kEdgesAhead, a.last_edge));
      prefetch(a.z.row(a.columns[smaller(e + rows_ahead, a.last_edge)]), a.width);
      const float* z = a.z.row(a.columns[e]);
      float* dots = a.dots + e * a.heads;
      for (std::int64_t k = 0; k < a.heads; ++k) {
        const std::int64_t c = k * columns;
        if constexpr (vectors > 0) {
          Vector<lanes> sum = {};
#pragma GCC unroll 16
          for (int v = 0; v < vectors; ++v)
            sum += load<lanes>(x + c + v * lanes) * load<lanes>(z + c + v * lanes);
          dots[k] = dot<lanes>(x, z, 0, sum);
        } else {
          dots[k] = dot<lanes>(x + c, z + c, columns, Vector<lanes>{});
        }
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
