#include "core/graph/dataset.hpp"

#include <fmt/core.h>

namespace orrery {

void set_graph(Dataset& dataset, const EdgeList& edges) {
  dataset.graph = std::make_shared<Csr>(build_csr(edges));
  note_duplicates(dataset, edges.size() - dataset.graph->nnz());
}

void note_duplicates(Dataset& dataset, std::int64_t merged) {
  if (merged > 0) dataset.notes.push_back(fmt::format("{} duplicate edges merged", merged));
}

}  // namespace orrery
