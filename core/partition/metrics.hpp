// How good a cut is, counted by passes over the edges.
#pragma once

#include <vector>

#include "core/partition/edges/edge_stream.hpp"
#include "core/partition/replicas.hpp"

namespace orrery {

struct CutMetrics {
  double replication_factor = 1;  ///< Σ_p |owned_p ∪ replicas_p ∪ N(owned_p)| / |V|
  double edge_cut = 0;            ///< edges whose ends have different owners / edges
  double vertex_balance = 1;      ///< most vertices owned by a part / mean
  double edge_balance = 1;        ///< most edge ends at the vertices that a part owns / mean
  /// [hop - 1][part]: vertices of others that are so many hops from what the part owns, and no
  /// fewer. Those of hop 1 complete its neighbourhoods; a network of L layers needs L hops.
  std::vector<std::vector<std::int64_t>> halo_rows;
};

/// Whose neighbour an edge of a stream makes an end.
enum class Neighbours {
  both,    ///< each end is one of the other: undirected edges
  of_row,  ///< the second end of the first: a graph in memory, whose entry (v, u) comes as {v, u}
};

/// Counts a cut; self-loops are not counted. `replicas` may be empty.
///
/// Requires  hops >= 1
/// Cost      one pass for each hop; parts/8 bytes per vertex beside what is given, for two hops or
///           more twice that
/// Source    replication factor: CATGNN 5.1, with complete neighbourhoods
CutMetrics measure_cut(EdgeStream& edges, const Partition& partition, const Replicas& replicas,
                       Neighbours neighbours = Neighbours::both, int hops = 1);

}  // namespace orrery
