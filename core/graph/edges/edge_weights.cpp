#include "core/graph/edges/edge_weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {

namespace fs = std::filesystem;

bool has_entry(const Csr& graph, std::int64_t row, Vertex column) {
  const auto columns = graph.row(row);
  return std::binary_search(columns.begin(), columns.end(), column);
}

EdgeIndex entry_of(const Csr& graph, std::int64_t row, Vertex column) {
  const auto columns = graph.row(row);
  const auto found = std::lower_bound(columns.begin(), columns.end(), column);
  ORRERY_ASSERT(found != columns.end() && *found == column);
  return graph.offsets[at(row)] + (found - columns.begin());
}

bool has_edge_weights(const fs::path& folder) { return fs::exists(folder / "edge_weights.npy"); }

EdgeWeights read_edge_weights(const fs::path& folder, const Csr& graph) {
  const NpyArray edges(folder / "edges.npy"), array(folder / "edge_weights.npy");
  const auto ends = edges.values<std::int32_t>({2, -1});
  const std::size_t count = ends.size() / 2;
  const auto given = array.values<float>({static_cast<std::int64_t>(count)});
  auto weights = std::make_shared<std::vector<float>>(at(graph.nnz()));
  std::vector<bool> read(at(graph.nnz()));
  for (std::size_t e = 0; e < count; ++e) {
    if (!std::isfinite(given[e]) || given[e] < 0)
      throw DataError(array.path(), fmt::format("element {}", e),
                      fmt::format("expected a finite number >= 0, found {}", given[e]));
    const Vertex source = ends[e], destination = ends[count + e];
    const bool known = source >= 0 && source < graph.cols && destination >= 0 &&
                       destination < graph.rows && has_entry(graph, destination, source);
    if (!known)
      throw DataError(edges.path(), fmt::format("element {}", e),
                      "expected the edges that were read before: the file has changed");
    const auto entry = at(entry_of(graph, destination, source));
    (*weights)[entry] += given[e];
    read[entry] = true;
  }
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v))
      if (const auto entry = at(entry_of(graph, v, u));
          !read[entry] && has_entry(graph, u, static_cast<Vertex>(v)))
        (*weights)[entry] = (*weights)[at(entry_of(graph, u, static_cast<Vertex>(v)))];
  return weights;
}

void write_edge_weights(const Csr& graph, const std::vector<float>& weights,
                        const fs::path& folder) {
  const Csr by_source = transpose(graph);
  auto file = NpyWriter::create<float>(folder / "edge_weights.npy", {by_source.nnz()});
  std::vector<float> of_row;
  for (std::int64_t u = 0; u < by_source.rows; ++u) {
    of_row.clear();
    for (const Vertex v : by_source.row(u))
      of_row.push_back(weights[at(entry_of(graph, v, static_cast<Vertex>(u)))]);
    file.append<float>(of_row);
  }
  file.close();
}

}  // namespace orrery
