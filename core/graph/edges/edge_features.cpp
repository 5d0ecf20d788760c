#include "core/graph/edges/edge_features.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEdgeFeatures = "edge_features.npy";

std::shared_ptr<const Features> with_zeros(const NpyArray& array, std::int64_t edges) {
  const auto given = array.values<float>({edges, -1});
  const std::int64_t width = array.shape()[1];
  if (width == 0)
    throw DataError(array.path(), "shape", "expected at least one column, found none");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!std::isfinite(given[i]))
      throw DataError(array.path(), fmt::format("element [{}, {}]", i / at(width), i % at(width)),
                      fmt::format("expected a finite number, found {}", given[i]));
  std::vector<float> values(given.begin(), given.end());
  values.resize(values.size() + at(width));
  return dense_features(edges + 1, width, std::move(values), kEdgeFeatures, false);
}

}  // namespace

Vertex EdgeFeatures::row_of(Vertex destination, Vertex source,
                            std::optional<std::uint32_t> relation) const {
  const EntryValues<Vertex>& of =
      relation ? row_of_entry.of_relations[*relation] : row_of_entry.of_graph;
  const EdgeIndex entry = entry_of(*of.graph, destination, source);
  return entry < 0 ? static_cast<Vertex>(rows->rows() - 1) : of.values[at(entry)];
}

bool has_edge_features(const fs::path& folder) { return fs::exists(folder / kEdgeFeatures); }

std::shared_ptr<const EdgeFeatures> read_edge_features(const fs::path& folder,
                                                       const Dataset& dataset) {
  const EdgesOfFolder edges(folder, dataset);
  const NpyArray array(folder / kEdgeFeatures);
  if (edges.count() >= std::numeric_limits<Vertex>::max())
    throw DataError(array.path(), "shape", "features of 2^31 edges or more are not read");
  auto made = std::make_shared<EdgeFeatures>();
  made->rows = with_zeros(array, edges.count());
  // The row of zeros stands for none: an edge that the data has gets another one.
  const auto none = static_cast<Vertex>(edges.count());
  made->row_of_entry = edges.collect<Vertex>(none, [&](Vertex& row, std::size_t e) {
    if (row == none) row = static_cast<Vertex>(e);
  });
  return made;
}

void write_edge_features(const EdgeFeatures& features, const fs::path& folder) {
  constexpr std::size_t kAtOnce = 1 << 16;
  const std::vector<Vertex> rows = in_written_order(features.row_of_entry);
  const std::int64_t width = features.width();
  auto file = NpyWriter::create<float>(folder / kEdgeFeatures, {std::ssize(rows), width});
  std::vector<float> values;
  for (std::size_t first = 0; first < rows.size(); first += kAtOnce) {
    const auto some = std::span(rows).subspan(first, std::min(kAtOnce, rows.size() - first));
    values.resize(some.size() * at(width));
    features.rows->read(some, 0, width, values.data(), width);
    file.append<float>(values);
  }
  file.close();
}

}  // namespace orrery
