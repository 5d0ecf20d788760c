// The subgraph of a server after its external vertices are chosen.
#pragma once

#include <span>

#include "core/partition/neighbourhood.hpp"

namespace orrery {

/// The own vertices and the external ones in local numbers: own first, then by distance from them
/// along in-edges inside the induced subgraph, and by global number at equal distance. `within`
/// ends with the largest distance. `graph`: all edges between held vertices.
///
/// External vertices that no own vertex reaches inside the subgraph are left out: no own vertex
/// would use them.
///
/// Shapes    own: ascending · external: distinct, none of them own
/// Cost      the edges of the vertices that are held, a sort of each row, and 4 bytes per vertex of
///           the graph
/// Source    GraNNDis (arXiv text) 4.3: the internal dependencies of the subgraph are not
///           sampled
Neighbourhood induced_neighbourhood(const Csr& graph, std::span<const Vertex> own,
                                    std::span<const Vertex> external);

}  // namespace orrery
