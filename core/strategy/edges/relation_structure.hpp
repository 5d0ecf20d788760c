// The edges of each relation on one rank, prepared on the host for layers that work by relation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/products.hpp"
#include "core/sample/stacked_relations.hpp"
#include "core/strategy/edges/edge_structure.hpp"
#include "core/strategy/structure/halo_structure.hpp"

namespace orrery {

/// The edges of a relation into the rows of one rank. Columns are sources: the rank's own rows, then
/// those that it receives for all relations together.
///
/// Placement in host memory
struct RelationMatrix {
  int destination = 0;      ///< the type of the rows that they lead to
  SparseMatrix matrix;      ///< [rows of that type, sources]: means over in-neighbours
  SparseMatrix transposed;  ///< [sources, rows of that type]
  /// Replaces both if the model weighs edges (Products::RelationEdges): its sources are the rows of
  /// that type and then the others that have edges to them, whose columns are `sources`.
  std::optional<EdgeStructure> edges{};
  IndexList sources{};
};

/// All relations of a rank, and its rows of each type.
struct RelationStructure {
  std::vector<std::vector<Products::Rows>> types;  ///< of each, in runs
  /// The same of the rows that a first layer works on, where they are more than these.
  std::vector<std::vector<Products::Rows>> input_types{};
  std::vector<RelationMatrix> relations;
  /// Columns of the matrices are vertices until the device has numbered them. It makes the transposes,
  /// which are only counted.
  bool relabelled_later = false;
  bool empty() const { return relations.empty(); }
  std::int64_t bytes() const;  ///< of the matrices, in host memory
};

/// The runs of each of `types` types.
std::vector<std::vector<Products::Rows>> rows_by_type(std::span<const TypeRun> runs,
                                                      std::size_t types);

/// The same of a block of drawn edges, which has the rows of `stacked` for each of the first `rows` of
/// the vertices, and column i for vertices[i]: means over the drawn in-neighbours, by the weights
/// that are the block's values if it has some. Without transposes.
RelationStructure make_relations(const StackedRelations& stacked, const SparseMatrix& block,
                                 std::int64_t rows, std::span<const Vertex> vertices);

/// Adds the transposes of a model that multiplies by the matrices. numbers: these have vertices in the
/// place of columns, which the device will number so; null: they have columns.
void transpose_relations(RelationStructure& structure,
                         const std::shared_ptr<const LaterNumbers>& numbers = nullptr);

/// Replaces the matrices by their edges, for a model that weighs the edges of relations. `vertices`: global,
/// of all sources; `keys`: see ends_for().
///
/// Requires  real edges
void weigh_relations(RelationStructure& structure, const std::optional<EndVertices>& keys,
                     std::span<const Vertex> vertices);

/// The relations of a rank, with transposes. `part`: the halo of the union of all relations, of the graph as
/// it is. Every vertex then represents `magnify` ones; for more than 1 the result is counted only.
RelationStructure make_relations(const PartitionedGraph& source, const HaloStructure& part,
                                 int rank, std::int64_t magnify);

}  // namespace orrery
