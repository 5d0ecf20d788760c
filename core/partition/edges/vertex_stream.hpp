// Vertices that come one after another with their neighbours.
#pragma once

#include <span>

#include "core/graph/csr.hpp"

namespace orrery {

/// One pass over the vertices of an undirected graph, each with all its neighbours.
class VertexStream {
 public:
  struct Item {
    Vertex vertex;
    std::span<const Vertex> neighbours;
  };
  virtual ~VertexStream() = default;
  virtual std::int64_t vertices() const = 0;
  virtual std::int64_t undirected_edges() const = 0;
  /// The next vertex; false after the last.
  virtual bool next(Item& item) = 0;
};

/// The rows of a graph in memory, in order.
///
/// Requires  a symmetric graph that outlives the stream
class CsrVertices final : public VertexStream {
 public:
  explicit CsrVertices(const Csr& graph) : graph_(graph) {}
  std::int64_t vertices() const override { return graph_.rows; }
  std::int64_t undirected_edges() const override { return graph_.nnz() / 2; }
  bool next(Item& item) override {
    if (next_ == graph_.rows) return false;
    item = {static_cast<Vertex>(next_), graph_.row(next_)};
    ++next_;
    return true;
  }

 private:
  const Csr& graph_;
  std::int64_t next_ = 0;
};

}  // namespace orrery
