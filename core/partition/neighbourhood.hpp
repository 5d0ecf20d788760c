// What a part holds when it is trained alone: its own vertices and those around them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/graph/edge_list.hpp"

namespace orrery {

/// The own vertices of a part and those around them, in local numbers: by distance, and by global
/// number at equal distance. Vertices that are not own are replicas.
struct Neighbourhood {
  std::vector<Vertex> vertices;      ///< global number of each
  std::vector<std::int64_t> within;  ///< vertices at distance <= d from the own ones, from d = 0 on
  /// In-neighbours in local numbers. For neighbourhood() these are the edges with an end at a
  /// distance below `hops`, whose vertices then have complete neighbourhoods; without hops they are
  /// the edges between own vertices.
  Csr graph;
};

/// The own vertices of a part and all within `hops` hops. Distances ignore the direction of edges.
///
/// Shapes    graph: in-neighbours · reverse: out-neighbours (the same where it is symmetric) · own:
///           ascending
/// Cost      the edges of the vertices that are held, a sort of each row, and 4 bytes per vertex of
///           the graph
/// Source    CATGNN 4.2 (one hop: cross edges are in both parts) and 5.5 (0 to 3 hops)
/// Departs   CATGNN emulates 0 hops by giving a cross edge to one of its two parts at random, as
///           one_sided_edges() does; here neither part has it
Neighbourhood neighbourhood(const Csr& graph, const Csr& reverse, std::span<const Vertex> own,
                            int hops);

/// A part with exactly these edges: its own vertices and the ends of the edges, by their distance
/// from the own ones along these edges. Ends without such a path come last; no own vertex depends
/// on them.
///
/// Shapes    own: ascending · edges: in global numbers; source is an in-neighbour of destination
/// Cost      sorts of the part's edges; nothing of the graph's size
Neighbourhood neighbourhood_of_edges(std::span<const Vertex> own, const std::vector<Edge>& edges);

/// The edges of a part if a cross edge goes to one of its two parts (drawn_end): those between the
/// part's own vertices, and the others that are drawn for it.
///
/// Shapes    graph, reverse, own: as neighbourhood() · owner: owner of each vertex
std::vector<Edge> one_sided_edges(const Csr& graph, const Csr& reverse, std::span<const Vertex> own,
                                  std::span<const std::int32_t> owner, std::uint64_t seed);

}  // namespace orrery
