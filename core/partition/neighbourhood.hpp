// What a part holds when it is trained on alone: its own vertices and those around them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// The own vertices of a part and all within `hops` hops of them, in local numbers: by distance,
/// and by global number within a distance. Vertices that are not own are replicas.
struct Neighbourhood {
  std::vector<Vertex> vertices;      ///< global number of each
  std::vector<std::int64_t> within;  ///< [hops + 1]: vertices at distance <= d of the own ones
  /// In-neighbours in local numbers: the edges with an end at a distance below `hops`, whose
  /// vertices so have their complete neighbourhoods; without hops the edges between own vertices.
  Csr graph;
};

/// Distances do not mind the direction of edges.
///
/// Shapes    graph: in-neighbours · reverse: out-neighbours (the same where it is symmetric) · own:
///           ascending
/// Cost      the edges of the vertices that are held, a sort of each row, and 4 bytes per vertex of
///           the graph
/// Source    CATGNN 4.2 (one hop: cross edges are in both parts) and 5.5 (0 to 3 hops)
/// Departs   CATGNN emulates 0 hops by giving a cross edge to one of its two parts at random; here
///           neither has it
Neighbourhood neighbourhood(const Csr& graph, const Csr& reverse, std::span<const Vertex> own,
                            int hops);

}  // namespace orrery
