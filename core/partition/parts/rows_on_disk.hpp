// The neighbours of vertices of a graph whose edges do not fit into memory.
#pragma once

#include <filesystem>
#include <optional>

#include "core/partition/parts/graph_rows.hpp"
#include "core/partition/parts/sorted_rows.hpp"

namespace orrery {

/// A graph whose edges come as a stream and are sorted on disk.
///
/// Cost      as SortedRows; twice that for a directed graph, which the first pass detects
class RowsOnDisk final : public GraphRows {
 public:
  /// `mirrored`: the graph also has the reverse of every edge. Files are made in `scratch`.
  ///
  /// Errors    as SortedRows
  /// Requires  `order` outlives the rows
  RowsOnDisk(EdgeStream& edges, bool mirrored, const OwnerOrder& order,
             const std::filesystem::path& scratch)
      : vertices_(order.vertices()),
        in_(edges, mirrored ? SortedRows::Side::both : SortedRows::Side::in, order, scratch / "in"),
        merged_(mirrored ? 0 : in_.added() - in_.entries()) {
    if (!in_.symmetric()) out_.emplace(edges, SortedRows::Side::out, order, scratch / "out");
  }
  std::int64_t vertices() const override { return vertices_; }
  std::int64_t edges() const override { return in_.entries(); }
  bool symmetric() const override { return !out_; }
  std::span<const Vertex> in(Vertex v) override { return in_.row(v); }
  std::span<const Vertex> out(Vertex v) override { return out_ ? out_->row(v) : in_.row(v); }
  std::int32_t in_degree(Vertex v) const override {
    return static_cast<std::int32_t>(in_.length(v)) - (in_.has_loop(v) ? 1 : 0);
  }
  /// Duplicates among the edges of the stream; 0 if they were mirrored.
  std::int64_t merged() const { return merged_; }

 private:
  std::int64_t vertices_;
  SortedRows in_;
  std::optional<SortedRows> out_;
  std::int64_t merged_;
};

}  // namespace orrery
