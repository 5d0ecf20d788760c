// The neighbours of any vertex, from any place: parts are made from these.
#pragma once

#include <algorithm>
#include <span>

#include "core/graph/csr.hpp"

namespace orrery {

class GraphRows {
 public:
  virtual ~GraphRows() = default;
  virtual std::int64_t vertices() const = 0;
  /// Directed edges, duplicates merged.
  virtual std::int64_t edges() const = 0;
  /// Whether every edge exists in both directions.
  virtual bool symmetric() const = 0;
  /// The vertices with an edge to v, or from v: distinct, ascending, with v itself if it has a
  /// loop; valid until the next call of the same function.
  virtual std::span<const Vertex> in(Vertex v) = 0;
  virtual std::span<const Vertex> out(Vertex v) = 0;
  /// In-neighbours of v without itself.
  virtual std::int32_t in_degree(Vertex v) const = 0;
};

/// For a graph in memory.
///
/// Requires  a graph that outlives the rows; `symmetric` as is_symmetric returns it
class RowsInMemory final : public GraphRows {
 public:
  RowsInMemory(const Csr& graph, bool symmetric)
      : in_(graph), out_(symmetric ? Csr{} : transpose(graph)), symmetric_(symmetric) {}
  std::int64_t vertices() const override { return in_.rows; }
  std::int64_t edges() const override { return in_.nnz(); }
  bool symmetric() const override { return symmetric_; }
  std::span<const Vertex> in(Vertex v) override { return in_.row(v); }
  std::span<const Vertex> out(Vertex v) override { return symmetric_ ? in_.row(v) : out_.row(v); }
  std::int32_t in_degree(Vertex v) const override {
    const auto row = in_.row(v);
    const bool loop = std::binary_search(row.begin(), row.end(), v);
    return static_cast<std::int32_t>(row.size()) - (loop ? 1 : 0);
  }

 private:
  const Csr& in_;
  Csr out_;
  bool symmetric_;
};

}  // namespace orrery
