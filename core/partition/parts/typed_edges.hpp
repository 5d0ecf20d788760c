// Streamed edges with the relation of each.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/graph/files/npy_window.hpp"
#include "core/graph/read/streamed_dataset.hpp"
#include "core/graph/read/typed_files.hpp"
#include "core/partition/edges/edge_stream.hpp"

namespace orrery {

struct TypedEdge {
  Vertex source, destination;
  std::int32_t relation;
};

/// Passes over the edges of a typed data set in the order of its files. If the data set is
/// mirrored, each edge of a relation without a reverse is followed by its own reverse, which is of
/// an added relation, as add_reverse_relations() names it.
///
/// Cost      a window of 16 MB of edge_relations.npy and blocks of 2 MB, for any number of edges
class TypedEdges {
 public:
  /// Requires  `edges`, those of data.edges, outlives the stream; data.typed
  /// Errors    DataError: edge_relations.npy is not int32 [edges]
  TypedEdges(EdgeStream& edges, const StreamedDataset& data);

  /// Types and relations, those that were added included; the relations have no graph.
  const TypedGraph& typed() const { return typed_; }
  /// Number of relations that the data set has itself; the others follow them.
  std::int32_t stored_relations() const { return stored_; }
  /// Number of edges that it has itself.
  std::int64_t stored_edges() const { return count_; }
  /// Of a mirrored data set: the relation that must hold the reverses of a stored one's edges.
  std::optional<std::int32_t> reverse_of(std::int32_t relation) const;

  /// Starts a pass.
  void rewind();
  /// The next edges of the pass, valid until the next call; empty at its end.
  ///
  /// Errors    those of the stream and of RelationCheck
  std::span<const TypedEdge> next();

 private:
  void find_reverses();

  EdgeStream& edges_;
  NpyWindow relations_;
  std::int64_t count_ = 0, next_ = 0;
  std::int32_t stored_ = 0;
  TypedGraph typed_;
  RelationCheck check_;
  std::vector<std::int32_t> reverse_;  ///< of each stored relation; empty if nothing is mirrored
  std::vector<std::int32_t> added_;  ///< relation of the reverses that are added to each; -1: none
  std::vector<TypedEdge> block_;
};

}  // namespace orrery
