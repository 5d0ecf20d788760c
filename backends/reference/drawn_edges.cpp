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

}  // namespace orrery::reference
