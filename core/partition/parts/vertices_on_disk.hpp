// The vertices of a graph with their neighbours, in ascending order, for edges that do not fit into
// memory.
#pragma once

#include <filesystem>

#include "core/partition/edges/vertex_stream.hpp"
#include "core/partition/parts/sorted_rows.hpp"

namespace orrery {

/// The same as CsrVertices of the symmetrised graph, from a stream of edges in any order, each in
/// one direction or both.
///
/// Cost      as SortedRows on both sides: 12 bytes on disk per direction of an edge while it sorts,
///           4 for good; in memory 13 bytes per vertex and some 100 MB
class VerticesOnDisk final : public VertexStream {
 public:
  /// Makes files whose names begin with `scratch`.
  ///
  /// Requires  edges name only vertices below `vertices`
  /// Errors    as SortedRows
  VerticesOnDisk(EdgeStream& edges, std::int64_t vertices, const std::filesystem::path& scratch)
      : by_number_({1, std::vector<std::int32_t>(at(vertices))}),
        rows_(edges, SortedRows::Side::both, by_number_, scratch) {}

  std::int64_t vertices() const override { return by_number_.vertices(); }
  std::int64_t undirected_edges() const override { return rows_.entries() / 2; }
  bool next(Item& item) override {
    if (next_ == vertices()) return false;
    const auto v = static_cast<Vertex>(next_++);
    item = {v, rows_.row(v)};
    return true;
  }

 private:
  OwnerOrder by_number_;  ///< of one owner
  SortedRows rows_;
  std::int64_t next_ = 0;
};

}  // namespace orrery
