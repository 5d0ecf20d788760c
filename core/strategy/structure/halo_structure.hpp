// Which rows of x a rank receives and sends so that it can multiply its rows of A.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/structure/cut_rows.hpp"
#include "core/strategy/structure/index_list.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {

/// The structure of one rank: for its rows of y, and what it sends of its rows of x.
///
/// Placement the rows of A of one rank, in host memory
struct HaloStructure {
  using RowCounts = std::shared_ptr<const std::vector<std::int64_t>>;  ///< by index in the group
  RowCounts receive, send;             ///< distinct rows from and to each rank
  IndexList send_rows;                 ///< own row of each sent one, by receiver
  IndexList received_rows;             ///< row at its owner of each received one, by owner
  SparseMatrix own_block, halo_block;  ///< halo columns by owner, ascending for each owner
  /// The transposed blocks of a part that is loaded again and again; empty: each load makes them.
  std::optional<SparseMatrix> own_adjoint{}, halo_adjoint{};

  std::int64_t received() const { return halo_block.cols(); }
  std::int64_t sent() const { return send_rows.size(); }
};

/// A rank receives the columns of its rows of A that it does not own. It sends its rows of x with
/// an entry in another rank's rows of A: rows of Aᵀ with an entry in that rank's columns.
///
/// Shapes    tiles [own rows of y, rows of x of rank j] · adjoint [own rows of x, rows of y of rank
///           j], which may be the same where A = Aᵀ; `index`: of this rank in the group
HaloStructure make_halo_structure(const std::vector<SparseMatrix>& tiles,
                                  const std::vector<SparseMatrix>& adjoint, int index);

/// Makes the transposed blocks; that of the own block only if it is not its own transpose.
void keep_adjoints(HaloStructure& part, bool symmetric);

HaloStructure::RowCounts magnified(const HaloStructure::RowCounts& counts, std::int64_t times);
/// The part of a graph in which every vertex represents `times` ones: that many times the rows,
/// entries and travelling rows, counted only.
HaloStructure magnified(const HaloStructure& part, std::int64_t times);

/// The same for a rank that owns the part with its number.
HaloStructure make_halo_structure(const PartitionedGraph& source, int rank);

}  // namespace orrery
