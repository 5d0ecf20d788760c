// What a device does with the edges of a batch that were drawn between vertices: a table with open
// addressing, and a transpose by counting.
#include <algorithm>
#include <bit>
#include <numeric>

#include "backends/cpu/cpu_apply.hpp"
#include "core/base/error.hpp"

namespace orrery::cpu {
namespace {

constexpr std::int64_t kEntriesPerRange = std::int64_t{1} << 14;

/// Slots hold places in the list of vertices; −1: empty.
class Places {
 public:
  Places(std::int32_t* slots, std::int64_t count, const std::int32_t* vertices)
      : slots_(slots),
        mask_(static_cast<std::size_t>(count) - 1),
        shift_(64 - std::countr_zero(static_cast<std::size_t>(count))),
        vertices_(vertices) {
    std::fill_n(slots_, count, -1);
  }
  void add(std::int32_t place) const {
    std::size_t i = first(vertices_[place]);
    while (slots_[i] >= 0) i = (i + 1) & mask_;
    slots_[i] = place;
  }
  std::int32_t of(std::int32_t vertex) const {
    for (std::size_t i = first(vertex);; i = (i + 1) & mask_) {
      const std::int32_t place = slots_[i];
      ORRERY_ASSERT(place >= 0);
      if (vertices_[place] == vertex) return place;
    }
  }

 private:
  std::size_t first(std::int32_t vertex) const {  // Fibonacci hashing
    return static_cast<std::size_t>(
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(vertex)) * 0x9E3779B97F4A7C15U) >>
        shift_);
  }
  std::int32_t* slots_;
  std::size_t mask_;
  int shift_;
  const std::int32_t* vertices_;
};

/// Fills t with the transpose of a. Calls place(p, e): entry p of t is entry e of a.
template <class Place>
void transpose_into(const Csr& a, Csr& t, const Place& place) {
  std::fill(t.offsets.begin(), t.offsets.end(), 0);
  for (const Vertex c : a.columns) ++t.offsets[at(c) + 1];
  std::partial_sum(t.offsets.begin(), t.offsets.end(), t.offsets.begin());
  std::vector<EdgeIndex> next(t.offsets.begin(), t.offsets.end() - 1);
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (EdgeIndex e = a.offsets[at(r)]; e < a.offsets[at(r) + 1]; ++e) {
      const EdgeIndex to = next[at(a.columns[at(e)])]++;
      t.columns[at(to)] = static_cast<Vertex>(r);
      place(to, e);
    }
}

}  // namespace

void apply(const Relabel& op, const RankMemory& memory, const RangeKernels&) {
  const Places places(memory.data<std::int32_t>(op.table), op.table.rows(),
                      memory.data<std::int32_t>(op.vertices));
  const auto count = static_cast<std::int32_t>(op.vertices.rows());
  for (std::int32_t i = 0; i < count; ++i) places.add(i);
  Csr& a = memory.change_sparse(op.a);
  parallel_for(a.nnz(), kEntriesPerRange, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e) a.columns[at(e)] = places.of(a.columns[at(e)]);
  });
}

void apply(const TransposeSparse& op, const RankMemory& memory, const RangeKernels&) {
  const float* values = memory.data<float>(op.values);
  float* t_values = memory.data<float>(op.t_values);
  transpose_into(memory.pattern(op.a), memory.fill_sparse(op.t),
                 [=](EdgeIndex to, EdgeIndex e) { t_values[to] = values[e]; });
}

void apply(const EntriesByColumn& op, const RankMemory& memory, const RangeKernels&) {
  auto* order = memory.data<std::int32_t>(op.order);
  Csr &t = memory.fill_sparse(op.t), &by_column = memory.fill_sparse(op.by_column);
  transpose_into(memory.pattern(op.a), t,
                 [=](EdgeIndex to, EdgeIndex e) { order[to] = static_cast<std::int32_t>(e); });
  by_column.offsets = t.offsets;
  std::copy_n(order, op.a.nnz, by_column.columns.begin());
}

}  // namespace orrery::cpu
