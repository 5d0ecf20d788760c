// Inductive training: the graph that the training vertices induce, which is all that is trained on.
#pragma once

#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/graph_statistics.hpp"

namespace orrery {

/// The vertices that are trained on, ascending.
std::vector<Vertex> training_vertices(const Dataset& data);

/// The training vertices and the edges among them: vertex i is the i-th of training_vertices().
/// Notes what was left out.
///
/// Cost      one pass over the rows of the training vertices; features are read through, not copied
/// Source    PipeGCN's and GraNNDis' public code (--inductive)
Dataset training_graph(const Dataset& data);

/// The same of statistics: `training_edges` edges or, where nobody has counted them, as many as are
/// expected among that many vertices drawn at random, m·t(t − 1)/(n(n − 1)). The skew stays: the
/// largest degree shrinks as the mean one does.
GraphStatistics training_graph(const GraphStatistics& graph);

}  // namespace orrery
