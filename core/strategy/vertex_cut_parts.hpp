// The parts of a vertex cut: every entry of A is in one part, and a vertex is in each part that has
// an entry in its row or column.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/partition/partition.hpp"
#include "core/partition/replicas.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/halo_structure.hpp"

namespace orrery {

/// Rows by rank, in the form that structures share.
inline HaloStructure::RowCounts row_counts(std::vector<std::int64_t> counts) {
  return std::make_shared<const std::vector<std::int64_t>>(std::move(counts));
}

/// A part's entries of A, by whether the part owns their row and their column. Rows and columns
/// that it does not own are its mirrors.
///
/// Shapes    own [own, own] · own_from_mirrors [own, mirrors] · mirrors_from_own [mirrors, own] ·
///           mirrors [mirrors, mirrors]
/// Placement in host memory
struct CutBlocks {
  SparseMatrix own, own_from_mirrors, mirrors_from_own, mirrors;
};

/// The part's entries of Aᵀ.
CutBlocks transpose(const CutBlocks& blocks);

/// The blocks of a part on the device.
///
/// Placement of one rank
struct DeviceBlocks {
  LocalMatrix own, own_from_mirrors, mirrors_from_own, mirrors;

  DeviceBlocks(Runtime& rt, const CutBlocks& blocks, int column_tiles, const std::string& name);
};

/// The part of one rank.
///
/// Placement in host memory; own vertices in ascending order, mirrors by owner and then ascending
struct VertexCutPart {
  HaloStructure::RowCounts mirrors;   ///< of vertices of each rank
  HaloStructure::RowCounts mirrored;  ///< own vertices that each rank has as mirrors
  IndexList send_rows;                ///< the own row of each of those, by rank
  CutBlocks blocks;
  IndexList mirror_vertices{};  ///< the global vertex of each mirror
  /// For the own rows and then the mirrors: the sum of the whole row of A over that of the entries
  /// in this part, 1 where there are none.
  std::shared_ptr<const std::vector<float>> alone{};

  std::int64_t received() const { return blocks.mirrors.rows(); }
  std::int64_t sent() const { return send_rows.size(); }
};

/// The part of a graph in which every vertex represents `times` ones: that many times the rows,
/// entries and travelling rows, counted only.
VertexCutPart magnified(const VertexCutPart& part, std::int64_t times);

/// The entries of A by part, from the fragments of an edge partitioner. All calls may come from
/// several threads at once.
class VertexCutParts {
 public:
  /// An entry of the diagonal is in the part that owns its vertex. If the two directions of an edge
  /// went to two parts, both directions stay in one of them: A's part is symmetric where A is.
  ///
  /// Requires  a partition with fragments, of the graph that A has the pattern of
  /// Cost      4 bytes per entry of A beside A itself
  VertexCutParts(SparseMatrix a, const Partition& partition);

  bool symmetric() const { return a_.symmetric; }
  /// The own vertices of a part, in ascending order.
  const std::shared_ptr<const std::vector<Vertex>>& own(int part) const { return own_[at(part)]; }
  /// Cost      a pass over the rows of A that the part has
  VertexCutPart part(int part) const;
  /// Parts that have a vertex, in the mean over vertices.
  double replication_factor() const;

 private:
  int parts() const { return static_cast<int>(own_.size()); }

  SparseMatrix a_;
  std::vector<std::int32_t> owner_;
  std::vector<std::int32_t> part_of_entry_;
  Replicas holders_;
  std::vector<std::shared_ptr<const std::vector<Vertex>>> own_;
};

}  // namespace orrery
