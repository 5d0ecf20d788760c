// Features of edges, which lie beside a data set and are used where they are asked for:
// edge_features.npy, in the order of edges.npy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/graph/edges/edge_values.hpp"
#include "core/graph/features.hpp"

namespace orrery {

/// A row for each edge of a file, held once however many entries have it.
struct EdgeFeatures {
  std::shared_ptr<const Features>
      rows;  ///< the last is zeros: of edges that the data does not have
  EdgeValues<Vertex> row_of_entry;

  std::int64_t width() const { return rows->width(); }
  /// The row of the edge from `source` to `destination`, of the graph or by a relation; that of zeros if
  /// there is no such edge.
  Vertex row_of(Vertex destination, Vertex source, std::optional<std::uint32_t> relation) const;
};

/// Whether the folder has features of edges: edge_features.npy, float32 [E, f], in the order of edges.npy.
bool has_edge_features(const std::filesystem::path& folder);

/// The features of the edges of a data set that was read from the folder. An edge that comes several times
/// has those of its first; one that was added as the reverse of another has those of that one. In a typed
/// graph both hold within a relation and its reverse, and an edge of the graph has those of its first
/// relation.
///
/// Errors    DataError: not as many rows as edges, no columns, a number that is not finite
std::shared_ptr<const EdgeFeatures> read_edge_features(const std::filesystem::path& folder,
                                                       const Dataset& dataset);

/// Writes them as read_edge_features() reads them: in the order of the edges that write_orrery() writes.
void write_edge_features(const EdgeFeatures& features, const std::filesystem::path& folder);

}  // namespace orrery
