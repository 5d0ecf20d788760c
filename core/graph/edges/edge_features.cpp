#include "core/graph/edges/edge_features.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "edge_features.npy";
constexpr Vertex kNone = -1;

/// Rows of the entries of one graph, while they are found.
struct Found {
  explicit Found(std::shared_ptr<const Csr> of) : rows{std::move(of), {}} {
    rows.row_of_entry.assign(rows.graph->columns.size(), kNone);
  }
  EdgeRows rows;

  Vertex* row_of(Vertex destination, Vertex source) {
    if (!has_entry(*rows.graph, destination, source)) return nullptr;
    return &rows.row_of_entry[at(entry_of(*rows.graph, destination, source))];
  }
  /// The first edge decides.
  void set(Vertex destination, Vertex source, Vertex row) {
    if (Vertex* known = row_of(destination, source); known != nullptr && *known == kNone)
      *known = row;
  }
  /// Entries without a row take that of their reverse in another graph.
  void complete(Found& reverse) {
    for (std::int64_t v = 0; v < rows.graph->rows; ++v)
      for (const Vertex u : rows.graph->row(v))
        if (Vertex& row = *row_of(static_cast<Vertex>(v), u); row == kNone)
          if (const Vertex* other = reverse.row_of(u, static_cast<Vertex>(v))) row = *other;
  }
};

/// Which relation has the edges of relation r in the other direction; nothing: none.
std::optional<std::size_t> reverse_of(const TypedGraph& typed, std::size_t r) {
  const Relation& relation = typed.relations[r];
  const Relation* found =
      typed.relation(relation.destination, reverse_name(relation.name), relation.source);
  if (found == nullptr) return std::nullopt;
  return static_cast<std::size_t>(found - typed.relations.data());
}

std::shared_ptr<const Features> with_zeros(const NpyArray& array, std::int64_t count) {
  const auto given = array.values<float>({count, -1});
  const std::int64_t width = array.shape()[1];
  if (width == 0)
    throw DataError(array.path(), "shape", "expected at least one column, found none");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!std::isfinite(given[i]))
      throw DataError(array.path(), fmt::format("element [{}, {}]", i / at(width), i % at(width)),
                      fmt::format("expected a finite number, found {}", given[i]));
  std::vector<float> values(given.begin(), given.end());
  values.resize(values.size() + at(width));
  return dense_features(count + 1, width, std::move(values), kFile, false);
}

}  // namespace

Vertex EdgeFeatures::row_of(Vertex destination, Vertex source,
                            std::optional<std::uint32_t> relation) const {
  const EdgeRows& rows_of = relation ? of_relations[*relation] : of_graph;
  const auto columns = rows_of.graph->row(destination);
  const auto found = std::lower_bound(columns.begin(), columns.end(), source);
  if (found == columns.end() || *found != source) return static_cast<Vertex>(rows->rows() - 1);
  return rows_of
      .row_of_entry[at(rows_of.graph->offsets[at(destination)] + (found - columns.begin()))];
}

bool has_edge_features(const fs::path& folder) { return fs::exists(folder / kFile); }

std::shared_ptr<const EdgeFeatures> read_edge_features(const fs::path& folder,
                                                       const Dataset& dataset) {
  const NpyArray edges(folder / "edges.npy"), array(folder / kFile);
  const auto ends = edges.values<std::int32_t>({2, -1});
  const std::size_t count = ends.size() / 2;
  if (count >= at(std::numeric_limits<Vertex>::max()))
    throw DataError(array.path(), "shape", "features of 2^31 edges or more are not read");
  auto made = std::make_shared<EdgeFeatures>();
  made->rows = with_zeros(array, static_cast<std::int64_t>(count));

  std::vector<Found> found;  // of each relation, then of the graph
  if (dataset.typed)
    for (const Relation& relation : dataset.typed->relations) found.emplace_back(relation.graph);
  found.emplace_back(dataset.graph);
  Found& of_graph = found.back();
  std::optional<NpyArray> kinds;
  std::span<const std::int32_t> kind;
  if (dataset.typed) {
    kinds.emplace(folder / "edge_relations.npy");
    kind = kinds->values<std::int32_t>({static_cast<std::int64_t>(count)});
  }
  for (std::size_t e = 0; e < count; ++e) {
    const Vertex source = ends[e], destination = ends[count + e], row = static_cast<Vertex>(e);
    const auto within = [](Vertex v, std::int64_t vertices) { return v >= 0 && v < vertices; };
    const bool known = within(source, dataset.vertices()) &&
                       within(destination, dataset.vertices()) &&
                       (kind.empty() || within(kind[e], std::ssize(found) - 1));
    if (!known || of_graph.row_of(destination, source) == nullptr)
      throw DataError(edges.path(), fmt::format("element {}", e),
                      "expected the edges that were read before: the file has changed");
    of_graph.set(destination, source, row);
    if (!kind.empty()) found[at(kind[e])].set(destination, source, row);
  }
  of_graph.complete(of_graph);
  if (dataset.typed)
    for (std::size_t r = 0; r < dataset.typed->relations.size(); ++r)
      if (const auto reverse = reverse_of(*dataset.typed, r)) found[r].complete(found[*reverse]);

  for (Found& one : found)
    for (Vertex& row : one.rows.row_of_entry)
      if (row == kNone) row = static_cast<Vertex>(count);
  made->of_graph = std::move(of_graph.rows);
  found.pop_back();
  for (Found& one : found) made->of_relations.push_back(std::move(one.rows));
  return made;
}

void write_edge_features(const EdgeFeatures& features, const fs::path& folder) {
  std::vector<const EdgeRows*> graphs;
  for (const EdgeRows& relation : features.of_relations) graphs.push_back(&relation);
  if (graphs.empty()) graphs.push_back(&features.of_graph);
  std::int64_t edges = 0;
  for (const EdgeRows* rows : graphs) edges += rows->graph->nnz();
  const std::int64_t width = features.width();
  auto file = NpyWriter::create<float>(folder / kFile, {edges, width});
  std::vector<Vertex> of_source;
  std::vector<float> values;
  for (const EdgeRows* rows : graphs) {
    const Csr by_source = transpose(*rows->graph);
    for (std::int64_t u = 0; u < by_source.rows; ++u) {
      of_source.clear();
      for (const Vertex v : by_source.row(u))
        of_source.push_back(
            rows->row_of_entry[at(entry_of(*rows->graph, v, static_cast<Vertex>(u)))]);
      values.resize(of_source.size() * at(width));
      features.rows->read(of_source, 0, width, values.data(), width);
      file.append<float>(values);
    }
  }
  file.close();
}

}  // namespace orrery
