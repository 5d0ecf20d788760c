// Sparse-dense product: a row of y is summed up in registers while rows of x are prefetched.
//
// A random graph makes the product a stream of cache misses, so the kernel is fast if many rows of
// x are under way at once. It prefetches the row of an edge some kilobytes of x before its use,
// across the ends of rows. The random rows also drown the hardware's own prefetching, so the kernel
// prefetches the columns and values as well.
//
// If edges have several values, one for each head, no vector holds columns of two heads: each is
// weighed by one number. Heads of one column each are the other extreme: values then form a vector,
// like x.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// How far ahead of their use columns and values are prefetched.
constexpr std::int64_t kEdgesAhead = 256;

/// How far ahead rows of y are prefetched that the product is added to.
constexpr std::int64_t kSumsAhead = 8;

/// The factor of an entry of x: none, the value of the edge, that of the edge and its head, that of
/// the edge and its column.
enum class Weights { ones, edge, head, column };

/// Columns of the product that are summed up in one pass over the edges: those of some heads, all
/// of them, or [first, first + width), which are within one head.
struct Panel {
  std::int64_t first;  ///< column
  std::int64_t width;  ///< columns in each of its heads
  std::int64_t head;   ///< the first one
};

/// One panel, with (vectors − 1)·lanes < panel.width <= vectors·lanes columns in each of its heads,
/// at least one vector wide. The last vector of a head ends at the head's end and so may overlap
/// the one before it: both hold the same sums there. `whole`: heads have vectors · lanes columns,
/// so places of columns are constants.
///
/// Not inlined: where a compiler gathers several forms in one function, their loops share its registers,
/// and products of 33 to 64 columns took up to twice as long (gcc 12 with AVX-512).
template <int lanes, int vectors, int heads, Weights weights, bool whole = false>
[[gnu::noinline]] void panel_rows(const SpmmArgs& args, std::int64_t begin, std::int64_t end,
                                  Panel panel) {
  const SpmmArgs a = args;  // a copy, so that no store to y can change it
  const std::int64_t last = panel.width - lanes;
  const auto column_of = [last, panel](int v) {
    if (whole) return static_cast<std::int64_t>(v * lanes);
    const std::int64_t in_head = v % vectors == vectors - 1 ? last : v % vectors * lanes;
    return heads == 1 ? in_head : v / vectors * panel.width + in_head;
  };
  constexpr int all = heads * vectors;
  const std::int64_t rows_ahead = larger(8, smaller(64, 2048 / (heads * panel.width)));
  const float* x = a.x.first + panel.first;
  const std::int64_t stride = weights == Weights::edge ? 1 : a.heads;
  const float* values = a.values + (weights == Weights::head     ? panel.head
                                    : weights == Weights::column ? panel.first
                                                                 : 0);
  const std::int64_t first = a.offsets[begin],
                     unasked = smaller(first + rows_ahead, a.offsets[end]);
  for (std::int64_t e = first; e < unasked; ++e)  // rows that no edge before has prefetched
    prefetch(x + a.columns[e] * a.x.ld, all * lanes);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t row_end = a.offsets[r + 1];
    if (a.offsets[r] == row_end && a.beta == 1) continue;
    float* y = a.y.row(r) + panel.first;
    Vector<lanes> sum[all] = {};
    if (a.beta != 0) {
      prefetch(a.y.row(smaller(r + kSumsAhead, end - 1)) + panel.first, all * lanes);
      for (int v = 0; v < all; ++v) sum[v] = a.beta * load<lanes>(y + column_of(v));
    }
    for (std::int64_t e = a.offsets[r]; e < row_end; ++e) {
      const std::int64_t later = smaller(e + kEdgesAhead, a.last_edge);
      __builtin_prefetch(a.columns + later);
      if constexpr (weights != Weights::ones) __builtin_prefetch(values + later * stride);
      prefetch(x + a.columns[smaller(e + rows_ahead, a.last_edge)] * a.x.ld, all * lanes);
      const float* from = x + a.columns[e] * a.x.ld;
      const float* value = weights == Weights::ones ? nullptr : values + e * stride;
#pragma GCC unroll 16
      for (int v = 0; v < all; ++v) {
        const Vector<lanes> entry = load<lanes>(from + column_of(v));
        if constexpr (weights == Weights::ones)
          sum[v] += entry;
        else if constexpr (weights == Weights::column)
          sum[v] += load<lanes>(value + column_of(v)) * entry;
        else
          sum[v] += value[v / vectors] * entry;
      }
    }
    for (int v = 0; v < all; ++v)
      if (a.stream)
        stream<lanes>(y + column_of(v), sum[v]);
      else
        store<lanes>(y + column_of(v), sum[v]);
  }
}

/// Calls panel_rows<lanes, wanted> for columns of one head.
template <int lanes, int vectors>
void dispatch(const SpmmArgs& a, std::int64_t begin, std::int64_t end, Panel panel,
              std::int64_t wanted) {
  if constexpr (vectors > 1)
    if (wanted < vectors) return dispatch<lanes, vectors - 1>(a, begin, end, panel, wanted);
  if (a.values == nullptr)
    panel_rows<lanes, vectors, 1, Weights::ones>(a, begin, end, panel);
  else if (a.heads == 1)
    panel_rows<lanes, vectors, 1, Weights::edge>(a, begin, end, panel);
  else if (a.heads == a.width)
    panel_rows<lanes, vectors, 1, Weights::column>(a, begin, end, panel);
  else
    panel_rows<lanes, vectors, 1, Weights::head>(a, begin, end, panel);
}

/// Cuts columns [first, first + width), which are within head `head`, into panels of about equal
/// width that fit the accumulators.
template <int lanes, int max_vectors>
void columns(const SpmmArgs& a, std::int64_t begin, std::int64_t end, Panel whole) {
  const std::int64_t vectors = (whole.width + lanes - 1) / lanes;
  const std::int64_t panels = (vectors + max_vectors - 1) / max_vectors;
  for (std::int64_t p = 0; p < panels; ++p) {
    const std::int64_t first = p * vectors / panels, last = (p + 1) * vectors / panels;
    const Panel panel{whole.first + first * lanes,
                      smaller(whole.width, last * lanes) - first * lanes, whole.head};
    dispatch<lanes, max_vectors>(a, begin, end, panel, last - first);
  }
}

/// Widths below one vector use shorter vectors.
template <int lanes, int max_vectors>
void rows(const SpmmArgs& a, std::int64_t begin, std::int64_t end) {
  if constexpr (lanes > 1)
    if (a.width < lanes) return rows<lanes / 2, 2>(a, begin, end);
  columns<lanes, max_vectors>(a, begin, end, {0, a.width, 0});
}

/// Heads [first, a.heads), `heads` of them in one pass while that many are left, then half as many,
/// and so on.
template <int lanes, int vectors, int heads>
void groups_of_heads(const SpmmArgs& a, std::int64_t begin, std::int64_t end, std::int64_t first) {
  const std::int64_t width = a.width / a.heads;
  for (; first + heads <= a.heads; first += heads)
    if (width == vectors * lanes)
      panel_rows<lanes, vectors, heads, Weights::head, true>(a, begin, end,
                                                             {first * width, width, first});
    else
      panel_rows<lanes, vectors, heads, Weights::head, false>(a, begin, end,
                                                              {first * width, width, first});
  if constexpr (heads > 1) groups_of_heads<lanes, vectors, heads / 2>(a, begin, end, first);
}

/// The largest power of two that is not above n.
constexpr int power_below(int n) { return n < 2 ? 1 : 2 * power_below(n / 2); }

/// Calls groups_of_heads<lanes, wanted>.
template <int lanes, int vectors>
void dispatch_heads(const SpmmArgs& a, std::int64_t begin, std::int64_t end, std::int64_t wanted) {
  if constexpr (vectors > 1)
    if (wanted < vectors) return dispatch_heads<lanes, vectors - 1>(a, begin, end, wanted);
  groups_of_heads<lanes, vectors, power_below(kAccumulators / vectors)>(a, begin, end, 0);
}

/// Heads of more than one column; a head of fewer columns than a vector has uses shorter vectors, a
/// head that does not fit the accumulators is cut into panels of its own.
template <int lanes, int max_vectors>
void rows_of_heads(const SpmmArgs& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = a.width / a.heads, vectors = (width + lanes - 1) / lanes;
  if constexpr (lanes > 2)
    if (width < lanes) return rows_of_heads<lanes / 2, 2>(a, begin, end);
  if (vectors <= max_vectors)
    dispatch_heads<lanes, max_vectors>(a, begin, end, vectors);
  else
    for (std::int64_t head = 0; head < a.heads; ++head)
      columns<lanes, max_vectors>(a, begin, end, {head * width, width, head});
}

}  // namespace

void spmm(const SpmmArgs& args, std::int64_t begin, std::int64_t end) {
  if (args.heads == 1 || args.heads == args.width)
    rows<kLanes, kAccumulators>(args, begin, end);
  else
    rows_of_heads<kLanes, kAccumulators>(args, begin, end);
  if (args.stream) finish_stream();
}

}  // namespace orrery::cpu::ORRERY_ISA
