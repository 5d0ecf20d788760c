// Writes one part after another, from a graph in memory or on disk.
#pragma once

#include <filesystem>
#include <string>

#include "core/graph/read/vertex_rows.hpp"
#include "core/partition/parts/neighbourhood_finder.hpp"

namespace orrery {

/// What is told of a part in the meta.json of all.
struct PartSummary {
  std::int64_t owned = 0, replicas = 0;
  std::int64_t training = 0;  ///< own vertices of the training split
  std::string checksum;       ///< of its meta.json, which has those of its other files
};

/// Writes parts in the form that partitioned_dataset.hpp describes.
///
/// Requires  what it is given outlives it
/// Cost      as NeighbourhoodFinder; rows of features some megabytes at a time
class PartWriter {
 public:
  PartWriter(GraphRows& graph, const OwnerOrder& order, const VertexRows& rows, int hops,
             std::optional<std::uint64_t> one_sided)
      : graph_(graph), order_(order), rows_(rows), vertices_(graph, order, hops, one_sided) {}

  /// Into a folder that is there and empty.
  ///
  /// Errors    DataError: a file cannot be written; those of graph and rows
  PartSummary write(int part, const std::filesystem::path& folder, const std::string& name,
                    bool generated);

 private:
  std::int64_t write_edges(const std::filesystem::path& folder);
  std::int64_t training_vertices() const;
  void write_places(const std::filesystem::path& folder) const;

  GraphRows& graph_;
  const OwnerOrder& order_;
  const VertexRows& rows_;
  NeighbourhoodFinder vertices_;
};

}  // namespace orrery
