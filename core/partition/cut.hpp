// Every method by its name.
#pragma once

#include <span>
#include <string>

#include "core/partition/streaming.hpp"

namespace orrery {

/// What `orrery partition --compare all` compares: all methods but "file", in the order of the
/// tables.
std::span<const std::string> compared_methods();

/// Whether a method takes a stream of edges (hash, dbh, powergraph, hdrf, 2ps-l, spring), and
/// whether one of vertices with their neighbours (ldg, fennel).
bool takes_edge_stream(const std::string& method);
bool takes_vertex_stream(const std::string& method);

/// Cuts what a stream of edges holds, in memory O(vertices).
///
/// Errors    ConfigError: a method that needs the graph in memory, or is unknown · those of the
///           stream
StreamCut cut_stream(EdgeStream& edges, int parts, const PartitionOptions& options);

/// Cuts a graph in memory by any method. Streaming ones see it symmetrised, its rows in order,
/// every edge in both directions (CATGNN, footnote 4).
///
/// Errors    as partition_graph
StreamCut cut_graph(const Csr& graph, int parts, const PartitionOptions& options,
                    std::span<const Split> split = {});

}  // namespace orrery
