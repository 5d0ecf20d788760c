#include "core/graph/edges/edge_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

EdgeIndex entry_of(const Csr& graph, std::int64_t row, Vertex column) {
  const auto columns = graph.row(row);
  const auto found = std::lower_bound(columns.begin(), columns.end(), column);
  if (found == columns.end() || *found != column) return -1;
  return graph.offsets[at(row)] + (found - columns.begin());
}

EdgesOfFolder::EdgesOfFolder(const std::filesystem::path& folder, const Dataset& dataset)
    : dataset_(dataset), edges_(folder / "edges.npy"), ends_(edges_.values<std::int32_t>({2, -1})) {
  const auto count = at(this->count());
  if (dataset.typed) {
    const NpyArray kinds(folder / "edge_relations.npy");
    const auto of_edge = kinds.values<std::int32_t>({this->count()});
    kinds_.assign(of_edge.begin(), of_edge.end());
    by_relation_.resize(count);
    std::iota(by_relation_.begin(), by_relation_.end(), std::size_t{0});
    std::ranges::stable_sort(by_relation_, {}, [&](std::size_t e) { return kinds_[e]; });
  }
  const auto is_vertex = [&](Vertex v) { return v >= 0 && v < dataset.vertices(); };
  for (std::size_t e = 0; e < count; ++e) {
    const Vertex source = ends_[e], destination = ends_[count + e];
    const auto has = [&](const Csr& graph) { return entry_of(graph, destination, source) >= 0; };
    const auto in_relation = [&] {
      const auto& relations = dataset.typed->relations;
      return kinds_[e] >= 0 && kinds_[e] < std::ssize(relations) &&
             has(*relations[at(kinds_[e])].graph);
    };
    if (!is_vertex(source) || !is_vertex(destination) || !has(*dataset.graph) ||
        (dataset.typed && !in_relation()))
      throw DataError(edges_.path(), fmt::format("element {}", e),
                      "expected the edges that were read before: the file has changed");
  }
}

int EdgesOfFolder::reverse_of(int relation) const {
  const std::vector<Relation>& relations = dataset_.typed->relations;
  const Relation& one = relations[at(relation)];
  const Relation* found =
      dataset_.typed->relation(one.destination, reverse_name(one.name), one.source);
  return found == nullptr ? -1 : static_cast<int>(found - relations.data());
}

}  // namespace orrery
