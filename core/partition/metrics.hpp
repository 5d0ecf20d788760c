// The quality of a cut, counted by passes over the edges.
#pragma once

#include <vector>

#include "core/partition/edges/edge_stream.hpp"
#include "core/partition/replicas.hpp"

namespace orrery {

struct CutMetrics {
  double replication_factor = 1;  ///< Σ_p |owned_p ∪ replicas_p ∪ N(owned_p)| / |V|
  double edge_cut = 0;            ///< edges whose ends have different owners / edges
  double vertex_balance = 1;      ///< largest number of vertices owned by a part / mean
  /// largest number of edge ends at the vertices that a part owns / mean
  double edge_balance = 1;
  /// [hop - 1][part]: vertices of other parts at exactly this distance from what the part owns.
  /// Those of hop 1 complete its neighbourhoods; a network of L layers needs L hops.
  std::vector<std::vector<std::int64_t>> halo_rows;
};

/// How edges of a stream make neighbours.
enum class Neighbours {
  both,  ///< each end is a neighbour of the other: undirected edges
  /// the second end is a neighbour of the first: a graph in memory, whose entry (v, u) comes as {v,
  /// u}
  of_row,
};

/// Counts a cut; self-loops are not counted. `replicas` may be empty.
///
/// Requires  hops >= 1
/// Cost      one pass for each hop; parts/8 bytes per vertex besides the input, for two hops or
///           more twice that
/// Source    replication factor: CATGNN 5.1, with complete neighbourhoods
CutMetrics measure_cut(EdgeStream& edges, const Partition& partition, const Replicas& replicas,
                       Neighbours neighbours = Neighbours::both, int hops = 1);

}  // namespace orrery
