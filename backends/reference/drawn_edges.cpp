// What a device does with the edges of a batch that were drawn between vertices.
#include <map>

#include "backends/reference/reference_apply.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::reference {

void apply(const Relabel& op, const RankMemory& memory) {
  const Integers vertices(memory, op.vertices);
  std::map<Vertex, Vertex> places;
  for (std::int64_t i = 0; i < op.vertices.rows(); ++i)
    places[vertices(i, 0)] = static_cast<Vertex>(i);
  for (Vertex& column : memory.change_sparse(op.a).columns) {
    const auto found = places.find(column);
    ORRERY_ASSERT(found != places.end());
    column = found->second;
  }
}

void apply(const TransposeSparse& op, const RankMemory& memory) {
  const Floats values(memory, op.values), t_values(memory, op.t_values);
  const Csr& a = memory.pattern(op.a);
  Csr& t = memory.fill_sparse(op.t);
  std::int64_t next = 0;
  t.offsets[0] = 0;
  std::multimap<Vertex, std::pair<Vertex, float>> by_column;  // equal keys keep their order
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (EdgeIndex e = a.offsets[at(r)]; e < a.offsets[at(r) + 1]; ++e)
      by_column.emplace(a.columns[at(e)], std::pair(static_cast<Vertex>(r), values(e, 0)));
  for (Vertex c = 0; c < t.rows; ++c) {
    for (auto [entry, end] = by_column.equal_range(c); entry != end; ++entry, ++next) {
      t.columns[at(next)] = entry->second.first;
      t_values(next, 0) = entry->second.second;
    }
    t.offsets[at(c) + 1] = next;
  }
}

void apply(const EntriesByColumn& op, const RankMemory& memory) {
  const Integers order(memory, op.order);
  const Csr& a = memory.pattern(op.a);
  Csr &t = memory.fill_sparse(op.t), &by_column = memory.fill_sparse(op.by_column);
  std::int64_t next = 0;
  t.offsets[0] = by_column.offsets[0] = 0;
  std::multimap<Vertex, std::pair<Vertex, Vertex>> entries;  // equal keys keep their order
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (EdgeIndex e = a.offsets[at(r)]; e < a.offsets[at(r) + 1]; ++e)
      entries.emplace(a.columns[at(e)], std::pair(static_cast<Vertex>(r), static_cast<Vertex>(e)));
  for (Vertex c = 0; c < t.rows; ++c) {
    for (auto [entry, end] = entries.equal_range(c); entry != end; ++entry, ++next) {
      t.columns[at(next)] = entry->second.first;
      order(next, 0) = by_column.columns[at(next)] = entry->second.second;
    }
    t.offsets[at(c) + 1] = by_column.offsets[at(c) + 1] = next;
  }
}

}  // namespace orrery::reference
