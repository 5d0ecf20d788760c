// Renumbering of the vertices for locality: neighbours get numbers, and so rows, close together.
#pragma once

#include <string>
#include <vector>

#include "core/graph/dataset.hpp"

namespace orrery {

/// The old number of every new vertex:
///   degree       descending in-degree (the rows that are read most share cache lines)
///   bfs          breadth-first along in-edges, from vertex 0, then from the first vertex that was
///                not reached
///   communities  groups found by label propagation (at most an eighth of the vertices each), in
///                breadth-first order of their first vertex and of the vertices inside
/// Ties are broken by number; the result does not depend on the number of threads.
///
/// Cost      one sort; one pass over the edges; up to six passes over the edges. `bfs` and
///           `communities` are serial
/// Errors    ConfigError under "dataset.reorder" for another method
std::vector<Vertex> vertex_order(const Csr& graph, const std::string& method);

/// The same graph with new numbers: row v of the result is row old_id[v] of `graph`.
Csr permute(const Csr& graph, const std::vector<Vertex>& old_id);

/// Renumbers graph, features, labels and split; notes the method and the seconds it took.
void reorder(Dataset& dataset, const std::string& method);

}  // namespace orrery
