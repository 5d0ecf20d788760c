#include "core/graph/dataset.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

EdgeIndex entry_of(const Csr& graph, Vertex row, Vertex column) {
  const auto columns = graph.row(row);
  const auto found = std::lower_bound(columns.begin(), columns.end(), column);
  ORRERY_ASSERT(found != columns.end() && *found == column);
  return graph.offsets[at(row)] + (found - columns.begin());
}

std::shared_ptr<const std::vector<float>> weights_for(const Csr& to, const Csr& from,
                                                      const std::vector<float>& weights) {
  auto made = std::make_shared<std::vector<float>>();
  made->reserve(at(to.nnz()));
  for (Vertex v = 0; v < to.rows; ++v)
    for (const Vertex u : to.row(v)) {
      const auto row = from.row(v);
      const bool same = std::binary_search(row.begin(), row.end(), u);
      made->push_back(weights[at(same ? entry_of(from, v, u) : entry_of(from, u, v))]);
    }
  return made;
}

void set_graph(Dataset& dataset, const EdgeList& edges) {
  dataset.graph = std::make_shared<Csr>(build_csr(edges));
  note_duplicates(dataset, edges.size() - dataset.graph->nnz());
}

void note_duplicates(Dataset& dataset, std::int64_t merged) {
  if (merged > 0) dataset.notes.push_back(fmt::format("{} duplicate edges merged", merged));
}

}  // namespace orrery
