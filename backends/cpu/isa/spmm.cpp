// Sparse-dense product: a row of y is summed up in registers while rows of x are fetched ahead.
//
// A random graph makes the product a stream of cache misses, so the kernel is fast when many rows
// of x are under way at once: it asks for the row of an edge some kilobytes of x before it is used,
// across the ends of rows. The random rows also drown what the hardware would fetch ahead by
// itself, so the kernel asks for the columns and values to come as well.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// How far ahead of their use columns and values are fetched.
constexpr std::int64_t kEdgesAhead = 256;

/// Columns [first, first + width) of the product.
struct Panel {
  std::int64_t first, width;
};

/// One panel of (vectors − 1)·lanes < width <= vectors·lanes columns, at least one vector wide. The
/// last vector ends at the panel's end and so may overlap the one before it: both hold the same
/// sums there.
template <int lanes, int vectors, bool valued>
void panel_rows(const SpmmArgs& args, std::int64_t begin, std::int64_t end, Panel panel) {
  const SpmmArgs a = args;  // a copy, so that no store to y can change it
  const std::int64_t last = panel.width - lanes;
  const auto column_of = [last](int v) { return v == vectors - 1 ? last : v * lanes; };
  const std::int64_t rows_ahead = larger(8, smaller(64, 2048 / panel.width));
  const float* x = a.x.first + panel.first;
  const std::int64_t first = a.offsets[begin],
                     unasked = smaller(first + rows_ahead, a.offsets[end]);
  for (std::int64_t e = first; e < unasked; ++e)  // rows that no edge before asked for
    prefetch(x + a.columns[e] * a.x.ld, vectors * lanes);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t row_end = a.offsets[r + 1];
    if (a.offsets[r] == row_end && a.beta == 1) continue;
    float* y = a.y.row(r) + panel.first;
    Vector<lanes> sum[vectors] = {};
    if (a.beta != 0)
      for (int v = 0; v < vectors; ++v) sum[v] = a.beta * load<lanes>(y + column_of(v));
    for (std::int64_t e = a.offsets[r]; e < row_end; ++e) {
      const std::int64_t later = smaller(e + kEdgesAhead, a.last_edge);
      __builtin_prefetch(a.columns + later);
      if constexpr (valued) __builtin_prefetch(a.values + later);
      prefetch(x + a.columns[smaller(e + rows_ahead, a.last_edge)] * a.x.ld, vectors * lanes);
      const float* from = x + a.columns[e] * a.x.ld;
      for (int v = 0; v < vectors; ++v) {
        const Vector<lanes> entry = load<lanes>(from + column_of(v));
        if constexpr (valued)
          sum[v] += a.values[e] * entry;
        else
          sum[v] += entry;
      }
    }
    for (int v = 0; v < vectors; ++v)
      if (a.stream)
        stream<lanes>(y + column_of(v), sum[v]);
      else
        store<lanes>(y + column_of(v), sum[v]);
  }
}

/// Calls panel_rows<lanes, wanted>.
template <int lanes, int vectors>
void dispatch(const SpmmArgs& a, std::int64_t begin, std::int64_t end, Panel panel,
              std::int64_t wanted) {
  if constexpr (vectors > 1)
    if (wanted < vectors) return dispatch<lanes, vectors - 1>(a, begin, end, panel, wanted);
  if (a.values != nullptr)
    panel_rows<lanes, vectors, true>(a, begin, end, panel);
  else
    panel_rows<lanes, vectors, false>(a, begin, end, panel);
}

/// Cuts the columns into panels of about equal width that fit the accumulators; widths below one
/// vector use shorter vectors.
template <int lanes, int max_vectors>
void rows(const SpmmArgs& a, std::int64_t begin, std::int64_t end) {
  if constexpr (lanes > 1)
    if (a.width < lanes) return rows<lanes / 2, 2>(a, begin, end);
  const std::int64_t vectors = (a.width + lanes - 1) / lanes;
  const std::int64_t panels = (vectors + max_vectors - 1) / max_vectors;
  for (std::int64_t p = 0; p < panels; ++p) {
    const std::int64_t first = p * vectors / panels, last = (p + 1) * vectors / panels;
    const Panel panel{first * lanes, smaller(a.width, last * lanes) - first * lanes};
    dispatch<lanes, max_vectors>(a, begin, end, panel, last - first);
  }
}

}  // namespace

void spmm(const SpmmArgs& args, std::int64_t begin, std::int64_t end) {
  rows<kLanes, kAccumulators>(args, begin, end);
  if (args.stream) finish_stream();
}

}  // namespace orrery::cpu::ORRERY_ISA
