// Writes one part after another, from a graph in memory or on disk.
#pragma once

#include <filesystem>
#include <string>

#include "core/graph/vertex_rows.hpp"
#include "core/partition/part_vertices.hpp"

namespace orrery {

/// What is told of a part in the meta.json of all.
struct WrittenPart {
  std::int64_t owned = 0, replicas = 0;
  std::int64_t training = 0;  ///< own vertices of the training split
  std::string checksum;       ///< of its meta.json, which has those of its other files
};

/// Writes parts in the form that parts_folder.hpp describes.
///
/// Requires  what it is given outlives it
/// Cost      as PartVertices; rows of features some megabytes at a time
class PartWriter {
 public:
  PartWriter(GraphRows& graph, const PartOrder& order, const VertexRows& rows, int hops)
      : graph_(graph), order_(order), rows_(rows), vertices_(graph, order, hops) {}

  /// Into a folder that is there and empty.
  ///
  /// Errors    DataError: a file cannot be written; those of graph and rows
  WrittenPart write(int part, const std::filesystem::path& folder, const std::string& name,
                    bool generated);

 private:
  std::int64_t write_edges(const std::filesystem::path& folder);
  std::int64_t training_vertices() const;
  void write_places(const std::filesystem::path& folder) const;

  GraphRows& graph_;
  const PartOrder& order_;
  const VertexRows& rows_;
  PartVertices vertices_;
};

}  // namespace orrery
