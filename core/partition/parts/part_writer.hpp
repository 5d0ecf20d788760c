// Writes parts one after another, from a graph in memory or on disk.
#pragma once

#include <filesystem>
#include <string>

#include "core/graph/read/vertex_rows.hpp"
#include "core/partition/parts/neighbourhood_finder.hpp"

namespace orrery {

/// What the meta.json of all parts records about one.
struct PartSummary {
  std::int64_t owned = 0, replicas = 0;
  std::int64_t training = 0;  ///< own vertices of the training split
  std::string checksum;       ///< checksum of its meta.json, which has those of its other files
};

/// Writes parts in the form that partitioned_dataset.hpp describes.
///
/// Requires  its arguments outlive it
/// Cost      as NeighbourhoodFinder; feature rows some megabytes at a time
class PartWriter {
 public:
  PartWriter(GraphRows& graph, const OwnerOrder& order, const VertexRows& rows, int hops,
             std::optional<std::uint64_t> one_sided)
      : graph_(graph), order_(order), rows_(rows), vertices_(graph, order, hops, one_sided) {}

  /// Into an existing, empty folder.
  ///
  /// Errors    DataError: a file cannot be written; those of graph and rows
  PartSummary write(int part, const std::filesystem::path& folder, const std::string& name,
                    bool generated);

 private:
  std::int64_t write_edges(const std::filesystem::path& folder);
  void write_relations(const std::filesystem::path& folder);
  std::int64_t training_vertices() const;
  void write_places(const std::filesystem::path& folder) const;

  GraphRows& graph_;
  const OwnerOrder& order_;
  const VertexRows& rows_;
  NeighbourhoodFinder vertices_;
};

}  // namespace orrery
