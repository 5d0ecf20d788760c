// SPRING's second step: clusters merge along the richest neighbours of their representatives.
#pragma once

#include "core/partition/methods/spring_clusters.hpp"

namespace orrery {

/// Merges clusters, the smallest first (of equal ones the one that began first). The representative
/// of a cluster is its vertex whose richest neighbour has the highest degree (of equal ones the one
/// with the smallest number). The cluster merges into that neighbour's cluster, unless that is
/// itself or both together have `most_vertices` or more. A merged cluster takes its place in the
/// order again. It ends when every cluster was examined and stayed. `persistent`: a cluster that
/// cannot follow its representative tries its other vertices by the degree of their richest
/// neighbours. The clusters are renumbered without gaps.
///
/// Cost      O(n log n); 8 bytes per vertex and 20 per cluster
/// Source    CATGNN 4.2, Algorithm 1, lines 22 to 30
/// Departs   `persistent` is ours
void merge_clusters(Clustering& clustering, const std::vector<std::uint32_t>& degree,
                    double most_vertices, bool persistent = false);

/// Vertices of every cluster.
std::vector<std::int32_t> cluster_sizes(const Clustering& clustering);

}  // namespace orrery
