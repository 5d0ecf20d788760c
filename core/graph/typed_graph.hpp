// Vertex types and relations: what a graph is made of whose vertices and edges are of several kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// The name of a relation that has the edges of another one in the other direction begins so.
inline const std::string kReversePrefix = "rev_";

/// Vertices of one type have consecutive numbers.
struct VertexType {
  std::string name;
  std::int64_t first = 0, count = 0;
  bool has(std::int64_t vertex) const { return vertex >= first && vertex < first + count; }
};

/// The edges of one kind: all of them lead from vertices of one type to vertices of one type.
struct Relation {
  std::string source;  ///< type of vertices
  std::string name;
  std::string destination;           ///< type of vertices
  std::shared_ptr<const Csr> graph;  ///< of all vertices; row v = in-neighbours by this relation

  /// "author.writes.paper"
  std::string text() const { return source + "." + name + "." + destination; }
};

/// Types in the order of their numbers: the first one's begin at 0, and they cover all vertices. A
/// pair of vertices may have edges of several relations.
struct TypedGraph {
  std::vector<VertexType> types;
  std::vector<Relation> relations;

  /// Number of edges; a pair of vertices counts once for each relation.
  std::int64_t edges() const;
  /// Null if there is none of this name.
  const VertexType* type(const std::string& name) const;
  const Relation* relation(const std::string& source, const std::string& name,
                           const std::string& destination) const;
  /// Relation::text() of each.
  std::vector<std::string> texts() const;
  std::vector<std::string> type_names() const;
};

/// All edges of all relations, without their kinds.
Csr union_of(const TypedGraph& typed);

/// "3 vertex types (paper 10, author 20, venue 2), 4 relations (author.writes.paper 30, ...)"
std::string words_of(const TypedGraph& typed);

/// The name of the relation that has the edges of one of this name in the other direction: `rev_writes` of
/// `writes`, and `writes` of `rev_writes`.
std::string reverse_name(const std::string& name);

/// Adds for each relation that has none another one with its edges in the other direction: for
/// (author, writes, paper) it is (paper, rev_writes, author).
///
/// Errors    ConfigError under "dataset.symmetric": a relation has the name of another one's
///           reverse, but other edges
void add_reverse_relations(TypedGraph& typed);

}  // namespace orrery
