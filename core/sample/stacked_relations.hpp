// The edges of all relations of a typed graph in one pattern, for samplers that must know by which
// relation an edge leads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/typed_graph.hpp"

namespace orrery {

struct MessageFlow;

/// A vertex has one row for each relation into its type, in the order of these. Self-loops are left
/// out. Vertices are those of `copies` copies of the graph, vertex v of copy c is v · copies + c
/// (NeighbourSampling::copies); all copies of a vertex have its rows.
struct StackedRelations {
  struct OfType {
    Vertex first = 0;            ///< its first vertex, in the first copy
    std::int64_t row = 0;        ///< the first row of its first vertex
    std::vector<int> relations;  ///< those into it, by number, ascending
  };
  std::vector<OfType> types;   ///< they cover all vertices, in ascending order
  std::vector<Vertex> begins;  ///< OfType::first of all but the first
  int relations = 0;
  int copies = 1;
  Csr rows;  ///< [Σ vertices of a type · relations into it, vertices], of one copy

  struct Rows {
    std::int64_t first = 0, count = 0;
    int type = 0;
  };
  /// Without branches: types of vertices that are drawn one after the other cannot be predicted.
  int type_of(Vertex v) const {
    int type = 0;
    for (const Vertex begin : begins) type += v >= begin ? 1 : 0;
    return type;
  }
  /// The rows of a vertex, one after the other.
  Rows rows_of(Vertex v) const {
    const int number = type_of(v);
    const OfType& type = types[at(number)];
    const std::int64_t each = std::ssize(type.relations);
    const Vertex place = copies == 1 ? v - type.first : (v - type.first) / copies;
    return {type.row + place * each, each, number};
  }
  /// The first of its rows if all copies were written out.
  std::int64_t number_of(Vertex v) const {
    const OfType& type = types[at(type_of(v))];
    return type.row * copies + (v - type.first) * std::ssize(type.relations);
  }
  /// Whether the relation leads to vertices of the type of v.
  bool leads_to(Vertex v, int relation) const;
  /// The row of a vertex with the edges of a relation.
  ///
  /// Requires  leads_to(v, relation)
  std::int64_t row_of(Vertex v, int relation) const;
  /// The most relations into one type, so the most rows of a vertex.
  std::int64_t most_relations() const;
};

/// Errors    ConfigError under "dataset" or "dataset.magnify": 2^31 rows or more, of all copies
///           together; more than 256 types
StackedRelations stack(const TypedGraph& typed, int copies = 1);

/// The values of the entries of `stacked`, in their order, from those of each relation's graph.
///
/// Shapes    of_relations [relations][entries of the relation's graph]
std::vector<float> stack_values(const TypedGraph& typed, const StackedRelations& stacked,
                                const std::vector<std::span<const float>>& of_relations);

/// The same flow with the vertices of each level that are new there in the order of their types, so
/// that a level has few runs of rows of one type. Its blocks have the rows of `stacked` for each vertex.
/// The positions of entries (MessageFlow::edges) follow their entries. keeps_vertices: columns of blocks
/// are vertices (NeighbourSampling) and stay so.
void order_by_type(MessageFlow& flow, const StackedRelations& stacked, bool keeps_vertices = false);

/// Consecutive rows of one type.
struct TypeRun {
  int type = 0;
  std::int64_t first = 0, count = 0;
};
/// The runs of a level whose row i is vertices[i].
std::vector<TypeRun> type_runs(std::span<const Vertex> vertices, const StackedRelations& stacked);

}  // namespace orrery
