// The streaming partitioners: edges (or vertices with their neighbours) come one after another, and
// memory is per vertex, never per edge.
//
// Symbols: n vertices, |E| edges of the stream, k parts, d(v) degree, A(v) the parts that hold an
// edge of v, |p| the edges of part p. All are serial and so do not depend on the number of threads.
#pragma once

#include <optional>
#include <vector>

#include "core/partition/edges/edge_stream.hpp"
#include "core/partition/edges/vertex_stream.hpp"
#include "core/partition/partition_options.hpp"
#include "core/partition/replicas.hpp"

namespace orrery {

/// Sizes of clusters; vertices without edges are in none.
struct ClusterSizes {
  std::int64_t count = 0;
  std::int64_t single = 0;         ///< clusters of one vertex
  double mean = 0, deviation = 0;  ///< vertices per cluster
};

/// The result of a streaming partitioner.
struct StreamCut {
  Partition partition;  ///< an owner for every vertex; for edge partitioners drawn among `replicas`
  Replicas replicas;    ///< edge partitioners: A(v); else empty
  std::vector<std::int64_t> part_edges;       ///< edge partitioners: |p|; else empty
  std::optional<ClusterSizes> before, after;  ///< spring: clusters before and after merging
};

/// Random hashing of vertices: owner = h(v).
///
/// Cost      one pass, to find the vertices; 4 bytes per vertex beside the degrees (4)
StreamCut hash_partition(EdgeStream& edges, int parts, std::uint64_t seed);

/// DBH, degree-based hashing: edge (u, v) goes to h(w), w the end of the lower degree.
///
/// Cost      two passes, O(|E|); 8 + k/8 bytes per vertex
/// Source    Xie, Yan, Li, Zhang 2014 (also called Libra), exact degrees
/// Departs   at equal degrees the smaller vertex number decides, so that both directions of an edge
///           meet
StreamCut dbh_partition(EdgeStream& edges, int parts, std::uint64_t seed,
                        const EdgeSink& sink = {});

/// PowerGraph's greedy vertex cut: with A(u) ∩ A(v) not empty, the least loaded part there; else
/// with both not empty, the least loaded of A(w), w the end with more edges to come; else the least
/// loaded of the one that is not empty; else the least loaded of all.
///
/// Cost      two passes, O(k·|E|); 8 + k/8 bytes per vertex
/// Source    Gonzalez, Low, Gu, Bickson, Guestrin 2012, section 4.2
/// Departs   a part with balance·|E|/k edges takes no more: in the order of a file every edge of a
///           connected graph touches one before it, and the rules alone would fill a single part
StreamCut powergraph_partition(EdgeStream& edges, int parts, std::uint64_t seed,
                               const PowergraphOptions& options = {}, const EdgeSink& sink = {});

/// HDRF, high degrees are replicated first: the part p of the highest g(u,p) + g(v,p) + λ·C_BAL(p),
/// g(u,p) = 1 + (1 − θ(u)) where p in A(u), else 0; θ(u) = δ(u) / (δ(u) + δ(v)), δ the degree so
/// far; C_BAL(p) = (max − |p|) / (ε + max − min), ε = 1.
///
/// Cost      two passes (the first for n and |E|), O(k·|E|); 8 + k/8 bytes per vertex
/// Source    Petroni, Querzoni, Daudjee, Kamali, Iacoboni 2015, equations 6 to 8
/// Departs   a part with balance·|E|/k edges takes no more
StreamCut hdrf_partition(EdgeStream& edges, int parts, std::uint64_t seed,
                         const HdrfOptions& options = {}, const EdgeSink& sink = {});

/// 2PS-L: vertices are clustered by one pass under a volume bound, clusters go to parts by sorted
/// list scheduling of their volumes; edges whose ends are then in one part go there in a second
/// pass, all others in a third to the better of two parts by s(p) = g(u,p) + g(v,p) + sc(u,p) +
/// sc(v,p), g(u,p) = 1 + (1 − d(u)/(d(u) + d(v))) where p in A(u), sc(u,p) = vol(c(u)) /
/// (vol(c(u)) + vol(c(v))) where c(u) is in p.
///
/// Cost      four passes with that for degrees, O(|E|); up to 20 + k/8 bytes per vertex
/// Source    Mayer, Orujzade, Jacobsen 2022
/// Departs   volume bound max_volume·Σd/k, of which the text at hand gives no value; full parts as
///           there: h(the end of the higher degree), then the least loaded
StreamCut two_ps_l_partition(EdgeStream& edges, int parts, std::uint64_t seed,
                             const TwoPsLOptions& options = {}, const EdgeSink& sink = {});

/// SPRING: clusters under a volume bound, merged along the richest neighbours of their
/// representatives, scheduled onto parts; every vertex in one part. See spring_clusters.hpp and
/// spring_merge.hpp for the two steps.
///
/// v_max = max_volume·Σd/k, and clusters merge below β·n/k vertices (equation 2). `refine` adds
/// rounds of refine.hpp.
///
/// Cost      two passes with that for degrees, O(|E| + n log n), and those of the refinement; at
///           most 40 + k/8 bytes per vertex
/// Source    CATGNN 4.2, Algorithm 1
/// Departs   degrees are exact, from a first pass; vertices without edges, of which the paper says
///           nothing, go one by one to the least loaded part; v_max and β are open in the paper:
///           0.105 and 1.05 give the counts of its table 2 at k = 16, and are what a public
///           repository of its authors has (0.1·|E|/k, times β; 1.05); refinement is ours
StreamCut spring_partition(EdgeStream& edges, int parts, const SpringOptions& options = {});

/// LDG, linear deterministic greedy: v goes to the part of the highest |N(v) ∩ P|·(1 − |P|/C) with
/// C = balance·n/k, among those with |P| < C; ties to the smallest part.
///
/// Cost      one pass over the vertices, O(|E| + k·n); 4 bytes per vertex beside the stream
/// Source    Stanton, Kliot 2012
StreamCut ldg_partition(VertexStream& vertices, int parts, const LdgOptions& options = {});

/// Fennel: v goes to the part of the highest |N(v) ∩ P| − α·γ·|P|^(γ−1), α = √k·m / n^(3/2), m
/// undirected edges, γ = 3/2, among those with |P| < ν·n/k; ties to the smallest part.
///
/// Cost      one pass over the vertices, O(|E| + k·n); 4 bytes per vertex beside the stream
/// Source    Tsourakakis, Gkantsidis, Radunovic, Vojnovic 2014; its γ and ν
StreamCut fennel_partition(VertexStream& vertices, int parts, const FennelOptions& options = {});

}  // namespace orrery
