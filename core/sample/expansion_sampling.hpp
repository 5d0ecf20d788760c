// Expansion-aware sampling: which vertices beyond its own a server loads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

enum class ExpansionRule : std::uint8_t {
  connections,       ///< the paper's rule: few vertices, well connected to what is held
  granndis_artifact  ///< the rule of the public code: uniform draws among all in-neighbours
};

struct ExpansionSampling {
  int hops = 1;     ///< rounds, and so the largest distance from an own vertex
  int fanout = 15;  ///< vertices that one vertex may bring in a round
  ExpansionRule rule = ExpansionRule::connections;
};

/// The external vertices that are held in addition to the own ones, in ascending order. Edges are
/// not chosen: the induced subgraph is held (induced.hpp), so all edges between own vertices
/// remain.
///
/// Rule      connections: in each round the vertices that the last one added (in the first, the own
///           ones) take their turns; each adds, of its in-neighbours that are not held, the
///           `fanout` with most connections. The connections of u are the held vertices, at the
///           beginning of the turn, that have u as an in-neighbour. Order of turns and ties: by
///           expansion_priority, then by number. So another draw changes both, and changes nothing
///           if no vertex has more than `fanout` to add. granndis_artifact: in each round every
///           vertex held, the own ones among them, draws `fanout` of its in-neighbours, wherever
///           they are, uniformly without replacement; those that were not held are added after the
///           round. Each round has its own draws.
/// Requires  hops >= 1, fanout >= 1; own: distinct vertices of the graph
/// Cost      connections: the edges of the held vertices, a selection among the candidates of each
///           boundary vertex and a sort of these; artifact: these edges once for each round. 4
///           bytes per vertex of the graph
/// Source    GraNNDis (arXiv text) 4.3, Fig. 6 and Algorithm 1; its code's sampler
/// Departs   the arXiv text leaves open which external neighbours are taken, and the conference
///           text (PACT '24) prefers those with many connections to vertices that are not selected;
///           here connections to what is held count, because only those bring edges. The text gives
///           the two numbers their names in both orders; here they have those of Algorithm 1 (k
///           hops, m fanout). The artifact has self-loops, which take one of the draws; here they
///           take none
std::vector<Vertex> sample_expansion(const Csr& graph, std::span<const Vertex> own,
                                     const ExpansionSampling& sampling, std::uint64_t seed,
                                     std::uint64_t draw);

/// Priorities for the rule `connections`: lower ones come first. round = 1, 2, ...
std::uint64_t expansion_priority(std::uint64_t seed, std::uint64_t draw, int round, Vertex v);

}  // namespace orrery
