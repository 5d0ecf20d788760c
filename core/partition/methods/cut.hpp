// Every method by its name.
#pragma once

#include <span>
#include <string>

#include "core/partition/methods/streaming.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// The methods that `orrery partition --compare all` compares, in the order of its table: all but
/// "file", and those from outside that agree.
std::span<const std::string> compared_methods();

/// Whether a method takes a stream of edges (hash, dbh, powergraph, hdrf, 2ps-l, spring), or one of
/// vertices with their neighbours (ldg, fennel). Unknown names take nothing.
bool takes_edge_stream(const std::string& method);
bool takes_vertex_stream(const std::string& method);

/// Cuts a graph into parts by the method of partitioner.hpp that has the name. block: equal runs of vertex numbers; degree_block: runs of equal work,
/// 1 + in-degree per vertex; training_block: runs of equal training vertices; random: a random permutation cut into equal runs; metis: metis.hpp;
/// ptscotch: ptscotch.hpp;
/// file; and the streaming methods hash, ldg, fennel, dbh, powergraph, hdrf, 2ps-l, spring
/// (streaming.hpp), of which cut_graph says more. `split` is needed by training_block, and where metis and ptscotch balance it.
///
/// Errors    ConfigError (unknown method, names the known ones) · NotBuilt (metis, ptscotch without their libraries)
///           · DataError (file) · Error if a method from outside violates its description
Partition partition_graph(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split = {});

/// Cuts a stream of edges, in memory O(vertices).
///
/// Errors    ConfigError: a method that needs the graph in memory, or is unknown · those of the
///           stream
StreamCut cut_stream(EdgeStream& edges, int parts, const PartitionOptions& options);

/// Cuts a stream of vertices with their neighbours, in memory O(vertices).
///
/// Errors    ConfigError: a method that takes no such stream
StreamCut cut_vertices(VertexStream& vertices, int parts, const PartitionOptions& options);

/// Whether a method assigns edges to parts, which are then fragments of the graph.
bool assigns_edges(const std::string& method);

/// Cuts a graph in memory by a method that assigns edges, and keeps the edges of each part
/// (Partition::fragments). The stream holds both directions of an edge of a symmetric graph, and
/// they are assigned one by one. A part has both if it was given either; of a directed graph it has
/// the one that exists. So a vertex is in the fragments of exactly the parts that hold it
/// (StreamCut::replicas), and its owner is drawn among these. A loop goes to the owner of its
/// vertex.
///
/// Cost      besides the cut, 8 bytes per edge and part with it
/// Source    CATGNN 2.3 (training on the parts of an edge partitioner as they are) and 3.2 ("if a
///           training node has multiple replicas, we randomly select one of them as the target
///           training node")
/// Errors    as partition_graph; ConfigError: the method assigns vertices
Partition cut_into_fragments(const Csr& graph, int parts, const PartitionOptions& options);

/// Cuts a graph in memory by any method. Streaming methods see it symmetrised, its rows in order,
/// with every edge in both directions (CATGNN, footnote 4).
///
/// Errors    as partition_graph
StreamCut cut_graph(const Csr& graph, int parts, const PartitionOptions& options,
                    std::span<const Split> split = {});

/// The same of a data set, whose split and types of vertices metis and ptscotch can balance.
StreamCut cut_dataset(const Dataset& data, int parts, const PartitionOptions& options);

}  // namespace orrery
