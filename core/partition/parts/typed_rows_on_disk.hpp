// The neighbours of any vertex by relation in a typed graph whose edges do not fit into memory.
#pragma once

#include <filesystem>

#include "core/partition/parts/graph_rows.hpp"
#include "core/partition/parts/sorted_rows.hpp"

namespace orrery {

/// A graph whose edges come as a stream with their relations and are sorted on disk.
///
/// Cost      as SortedTypedRows, twice; then a pass over the sorted neighbours; in memory 4 bytes
///           per vertex more
class TypedRowsOnDisk final : public GraphRows {
 public:
  /// Files are made in `scratch`.
  ///
  /// Errors    as SortedTypedRows; ConfigError under "dataset.symmetric": a relation has the name
  ///           of another one's reverse, but other edges
  /// Requires  `order` outlives the rows
  TypedRowsOnDisk(TypedEdges& edges, const OwnerOrder& order, const std::filesystem::path& scratch);

  std::int64_t vertices() const override { return std::ssize(degree_); }
  std::int64_t edges() const override { return edges_; }
  bool symmetric() const override { return symmetric_; }
  std::span<const Vertex> in(Vertex v) override { return distinct(in_.row(v), found_in_); }
  std::span<const Vertex> out(Vertex v) override { return distinct(out_.row(v), found_out_); }
  std::int32_t in_degree(Vertex v) const override { return degree_[at(v)]; }
  bool typed() const override { return true; }
  std::span<const TypedNeighbour> in_by_relation(Vertex v) override { return in_.row(v); }
  std::span<const TypedNeighbour> out_by_relation(Vertex v) override { return out_.row(v); }

  /// Edges of each relation.
  const std::vector<std::int64_t>& edges_of_relations() const { return edges_of_; }
  /// Edges of the relations that the data set has itself, each once.
  std::int64_t stored_edges() const { return stored_edges_; }
  /// Edges of the data set that came before in their relation.
  std::int64_t merged() const { return merged_; }

 private:
  void count(const TypedEdges& edges, const OwnerOrder& order);
  static std::span<const Vertex> distinct(std::span<const TypedNeighbour> row,
                                          std::vector<Vertex>& found);

  SortedTypedRows in_, out_;
  std::vector<std::int32_t> degree_;  ///< in-neighbours of each vertex without itself
  std::int64_t edges_ = 0, stored_edges_ = 0, merged_ = 0;
  std::vector<std::int64_t> edges_of_;
  bool symmetric_ = false;
  std::vector<Vertex> found_in_, found_out_;
};

}  // namespace orrery
