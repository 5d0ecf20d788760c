// Sizes of batches of sampled neighbours that hardly any batch exceeds, without drawing one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// By hop from the seeds: edges that are drawn, and vertices after it (the seeds before the first).
struct LikelySizes {
  std::vector<std::int64_t> vertices, edges;
};

/// A batch exceeds any of these sizes with a probability of at most `chance`. It is for draws without
/// replacement in which all sets of neighbours are equally likely, independently for each vertex and hop.
///
/// A sum of f over the vertices after a hop is at most that over hubs (which are expected more than once) and,
/// with each draw counted, over what the vertices before the hop draw. Given these, draws are independent, so
/// Bernstein's inequality bounds the sum by its mean, which is a sum over the vertices before the hop, and so
/// on back to the seeds. With f = 1 it bounds vertices, with f = min(fanout, degree) edges.
///
/// Shapes    lists: the vertices of which seeds are drawn, of any rank; the result [hops + 1], [hops]
/// Requires  lists that are not all empty; fanouts as in NeighbourSampling
/// Cost      a pass over the edges of the graph for each pair of hops
/// Source    Bernstein's inequality; Hoeffding 1963, theorem 4: it holds for draws without replacement
LikelySizes likely_sizes(const Csr& graph, std::span<const int> fanouts,
                         const std::vector<std::vector<Vertex>>& lists, std::int64_t seeds,
                         double chance);

}  // namespace orrery
