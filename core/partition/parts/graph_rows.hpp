// The neighbours of any vertex, from any place: parts are made from these.
#pragma once

#include <algorithm>
#include <compare>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/graph/csr.hpp"
#include "core/graph/typed_graph.hpp"

namespace orrery {

/// A neighbour by one relation.
struct TypedNeighbour {
  Vertex vertex;
  std::int32_t relation;
  auto operator<=>(const TypedNeighbour&) const = default;
};

inline Vertex vertex_of(Vertex neighbour) { return neighbour; }
inline Vertex vertex_of(const TypedNeighbour& neighbour) { return neighbour.vertex; }

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

  /// Whether edges have relations.
  virtual bool typed() const { return false; }
  /// The same as in() and out(), with a neighbour once for each relation, ascending.
  ///
  /// Requires  typed()
  virtual std::span<const TypedNeighbour> in_by_relation(Vertex) { no_relations(); }
  virtual std::span<const TypedNeighbour> out_by_relation(Vertex) { no_relations(); }

 private:
  [[noreturn]] static void no_relations() {
    assertion_failed("relations of a graph that has none", __FILE__, __LINE__);
  }
};

/// For a graph in memory.
///
/// Requires  a graph that outlives the rows, and so do the relations of its edges, if it has some;
///           `symmetric` as is_symmetric returns it
class RowsInMemory final : public GraphRows {
 public:
  RowsInMemory(const Csr& graph, bool symmetric, const TypedGraph* typed = nullptr)
      : in_(graph),
        out_(symmetric ? Csr{} : transpose(graph)),
        symmetric_(symmetric),
        typed_(typed) {}
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
  bool typed() const override { return typed_ != nullptr; }
  std::span<const TypedNeighbour> in_by_relation(Vertex v) override {
    found_in_.clear();
    for (const Vertex u : in(v)) add(found_in_, u, u, v);
    return found_in_;
  }
  std::span<const TypedNeighbour> out_by_relation(Vertex v) override {
    found_out_.clear();
    for (const Vertex u : out(v)) add(found_out_, u, v, u);
    return found_out_;
  }

 private:
  /// The neighbour by each relation that has the edge.
  void add(std::vector<TypedNeighbour>& found, Vertex neighbour, Vertex source,
           Vertex destination) const {
    for (std::size_t r = 0; r < typed_->relations.size(); ++r)
      if (std::ranges::binary_search(typed_->relations[r].graph->row(destination), source))
        found.push_back({neighbour, static_cast<std::int32_t>(r)});
  }

  const Csr& in_;
  Csr out_;
  bool symmetric_;
  const TypedGraph* typed_;
  std::vector<TypedNeighbour> found_in_, found_out_;
};

}  // namespace orrery
