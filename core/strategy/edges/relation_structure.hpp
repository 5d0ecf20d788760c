// The edges of each relation on one rank, prepared on the host for layers that work by relation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/strategy/structure/halo_structure.hpp"

namespace orrery {

/// The edges of a relation into the rows of one rank. Columns are sources: the rank's own rows, then
/// those that it receives for all relations together.
///
/// Placement in host memory
struct RelationMatrix {
  std::int64_t first = 0;   ///< the first of the rows that they lead to, which are consecutive
  SparseMatrix matrix;      ///< [rows, sources]: means over in-neighbours
  SparseMatrix transposed;  ///< [sources, rows]
};

/// Bytes of such matrices in host memory.
std::int64_t bytes_of(const std::vector<RelationMatrix>& relations);

/// The same of a block of drawn edges, in which row i and column i are vertices[i]: means over the drawn
/// in-neighbours. Relations lead to all rows, because types are mixed there.
///
/// Requires  all edges are of the typed graph
std::vector<RelationMatrix> make_relations(const TypedGraph& typed, const Csr& block,
                                           std::span<const Vertex> vertices);

/// `part`: the halo of the union of all relations, of the graph as it is. Every vertex then represents
/// `magnify` ones; for more than 1 the result is counted only.
std::vector<RelationMatrix> make_relations(const PartitionedGraph& source,
                                           const HaloStructure& part, int rank,
                                           std::int64_t magnify);

}  // namespace orrery
