// The largest of what stands at the sources of a row's entries, and its adjoint: vectors of columns,
// some of them at a time, over the entries of a row.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// How far ahead of their use column numbers, and the rows they stand for, are fetched.
constexpr std::int64_t kEdgesAhead = 64, kRowsAhead = 16;

/// The entry that is asked for while e is worked on.
template <class Args>
inline std::int64_t ahead(const Args& a, std::int64_t e) {
  __builtin_prefetch(a.columns + smaller(e + kEdgesAhead, a.last_edge));
  return a.columns[smaller(e + kRowsAhead, a.last_edge)];
}

/// Columns [column, column + vectors·lanes) of the rows of a range.
template <int lanes, int vectors>
void forward(const NeighbourMaxArgs& args, std::int64_t begin, std::int64_t end,
             std::int64_t column) {
  using Floats = Vector<lanes>;
  const NeighbourMaxArgs a = args;  // a copy, so that no store can change it
  const Floats one = Floats{} + 1;
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t first = a.offsets[r], last = a.offsets[r + 1];
    Floats largest[vectors], ties[vectors];
    for (int v = 0; v < vectors; ++v) {
      largest[v] = first == last ? Floats{} : Floats{} - __builtin_inff();
      ties[v] = Floats{};
    }
    for (std::int64_t e = first; e < last; ++e) {
      prefetch(a.x.row(ahead(a, e)) + column, vectors * lanes);
      const float* x = a.x.row(a.columns[e]) + column;
      for (int v = 0; v < vectors; ++v) {
        const Floats value = load<lanes>(x + v * lanes);
        const Floats more = value == largest[v] ? ties[v] + one : ties[v];
        ties[v] = value > largest[v] ? one : more;
        largest[v] = value > largest[v] ? value : largest[v];
      }
    }
    for (int v = 0; v < vectors; ++v) {
      store<lanes>(a.y.row(r) + column + v * lanes, largest[v]);
      store<lanes>(a.ties.row(r) + column + v * lanes, ties[v]);
    }
  }
}

template <int lanes, int vectors>
void backward(const NeighbourMaxBackwardArgs& args, std::int64_t begin, std::int64_t end,
              std::int64_t column) {
  using Floats = Vector<lanes>;
  const NeighbourMaxBackwardArgs a = args;
  for (std::int64_t r = begin; r < end; ++r) {
    Floats x[vectors], sum[vectors];
    for (int v = 0; v < vectors; ++v) {
      x[v] = load<lanes>(a.x.row(r) + column + v * lanes);
      sum[v] = Floats{};
    }
    for (std::int64_t e = a.offsets[r]; e < a.offsets[r + 1]; ++e) {
      const std::int64_t later = ahead(a, e), at = a.columns[e];
      prefetch(a.y.row(later) + column, vectors * lanes);
      prefetch(a.ties.row(later) + column, vectors * lanes);
      prefetch(a.dy.row(later) + column, vectors * lanes);
      for (int v = 0; v < vectors; ++v) {
        const std::int64_t c = column + v * lanes;
        const Floats share = load<lanes>(a.dy.row(at) + c) / load<lanes>(a.ties.row(at) + c);
        sum[v] += x[v] == load<lanes>(a.y.row(at) + c) ? share : Floats{};
      }
    }
    for (int v = 0; v < vectors; ++v) store<lanes>(a.dx.row(r) + column + v * lanes, sum[v]);
  }
}

/// Calls body<lanes, vectors>(column) for blocks of columns that cover [column, width).
template <int lanes, int vectors, class Body>
void each_block(std::int64_t width, std::int64_t column, const Body& body) {
  for (; column + lanes * vectors <= width; column += lanes * vectors)
    body.template operator()<lanes, vectors>(column);
  if constexpr (vectors > 1)
    each_block<lanes, 1>(width, column, body);
  else if constexpr (lanes > 1)
    each_block<lanes / 2, 1>(width, column, body);
}

}  // namespace

void neighbour_max(const NeighbourMaxArgs& args, std::int64_t begin, std::int64_t end) {
  each_block<kLanes, 4>(args.width, 0, [&]<int lanes, int vectors>(std::int64_t column) {
    forward<lanes, vectors>(args, begin, end, column);
  });
}

void neighbour_max_backward(const NeighbourMaxBackwardArgs& args, std::int64_t begin,
                            std::int64_t end) {
  each_block<kLanes, 4>(args.width, 0, [&]<int lanes, int vectors>(std::int64_t column) {
    backward<lanes, vectors>(args, begin, end, column);
  });
}

}  // namespace orrery::cpu::ORRERY_ISA
