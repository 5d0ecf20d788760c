#include "core/partition/partition.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery {
std::vector<std::vector<Vertex>> Partition::members() const {
  std::vector<std::vector<Vertex>> lists(static_cast<std::size_t>(parts));
  for (std::size_t v = 0; v < owner.size(); ++v)
    lists[at(owner[v])].push_back(static_cast<Vertex>(v));
  return lists;
}

double edge_cut(const Csr& graph, const Partition& partition) {
  std::int64_t cut = 0;
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v))
      if (partition.owner[at(u)] != partition.owner[at(v)]) ++cut;
  return graph.nnz() == 0 ? 0 : static_cast<double>(cut) / static_cast<double>(graph.nnz());
}

double replication_factor(const Csr& graph, const Partition& partition) {
  std::int64_t held = 0;
  std::vector<std::int32_t> seen(partition.owner.size(), -1);  // last part that counted a vertex
  const auto members = partition.members();
  for (std::size_t p = 0; p < members.size(); ++p) {
    const auto part = static_cast<std::int32_t>(p);
    const auto count = [&](Vertex v) {
      auto& mark = seen[at(v)];
      held += mark == part ? 0 : 1;
      mark = part;
    };
    for (const Vertex v : members[p]) {
      count(v);
      for (const Vertex u : graph.row(v)) count(u);
    }
  }
  return graph.rows == 0 ? 1 : static_cast<double>(held) / static_cast<double>(graph.rows);
}

double balance(const Partition& partition) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(partition.parts), 0);
  for (const auto p : partition.owner) ++sizes[at(p)];
  const double mean = static_cast<double>(partition.owner.size()) / partition.parts;
  return mean == 0 ? 1 : static_cast<double>(*std::max_element(sizes.begin(), sizes.end())) / mean;
}

}  // namespace orrery
