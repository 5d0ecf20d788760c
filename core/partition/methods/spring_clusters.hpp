// SPRING's first step: one pass that clusters vertices and records their richest neighbours.
#pragma once

#include <vector>

#include "core/partition/edges/edge_stream.hpp"

namespace orrery {

/// c(v), the cluster of v, numbered in the order in which clusters began, without gaps (-1: v has
/// no edge), and r(v), the neighbour of v with the highest degree (of equal ones the first that
/// came).
struct Clustering {
  std::int64_t clusters = 0;
  std::vector<std::int32_t> cluster;
  std::vector<Vertex> richest;
};

/// For each edge (u, v): an end that is new becomes a cluster of volume vol = d; where c(u) ≠ c(v)
/// and both volumes are below v_max, the end of the cluster with less volume (u, if equal) moves to
/// the other's. v_max = max_volume_share·Σd.
///
/// Cost      one pass, O(1) per edge; 8 bytes per vertex, and 8 per cluster begun
/// Source    CATGNN 4.2, Algorithm 1, lines 2 to 21, after Hollocou et al. 2017
Clustering cluster_stream(EdgeStream& edges, const std::vector<std::uint32_t>& degree,
                          double max_volume_share);

}  // namespace orrery
