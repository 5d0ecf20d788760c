// Inductive training: only the graph induced by the training vertices is trained on.
#pragma once

#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/graph_statistics.hpp"

namespace orrery {

/// The training vertices, in ascending order.
std::vector<Vertex> training_vertices(const Dataset& data);

/// The training vertices and the edges among them: vertex i is the i-th of training_vertices().
/// Notes what was left out.
///
/// Cost      one pass over the rows of the training vertices; features are read through, not copied
/// Source    PipeGCN's and GraNNDis' public code (--inductive)
Dataset training_graph(const Dataset& data);

/// The same for statistics: `training_edges` edges or, if nobody has counted them, the number
/// expected among that many random vertices, m·t(t − 1)/(n(n − 1)). The skew stays: the largest
/// degree shrinks like the mean degree.
GraphStatistics training_graph(const GraphStatistics& graph);

}  // namespace orrery
