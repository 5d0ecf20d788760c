// Every method by its name.
#pragma once

#include <span>
#include <string>

#include "core/partition/methods/streaming.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// What `orrery partition --compare all` compares, in the order of the tables: all methods but
/// "file", and others from outside that say so.
std::span<const std::string> compared_methods();

/// Whether a method takes a stream of edges (hash, dbh, powergraph, hdrf, 2ps-l, spring), and
/// whether one of vertices with their neighbours (ldg, fennel); a name that is none takes nothing.
bool takes_edge_stream(const std::string& method);
bool takes_vertex_stream(const std::string& method);

/// Cuts a graph into parts by the method of partitioner.hpp that has the name. block: equal runs of vertex numbers; degree_block: runs of equal work,
/// 1 + in-degree per vertex; training_block: runs of equal training vertices; random: a random permutation cut into equal runs; metis: metis.hpp;
/// file; and the streaming methods hash, ldg, fennel, dbh, powergraph, hdrf, 2ps-l, spring
/// (streaming.hpp), of which cut_graph says more. `split` is needed by training_block, and where metis balances it.
///
/// Errors    ConfigError (unknown method, names the known ones) · NotBuilt (metis without libmetis)
///           · DataError (file) · Error where a method from outside does not keep to its description
Partition partition_graph(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split = {});

/// Cuts what a stream of edges holds, in memory O(vertices).
///
/// Errors    ConfigError: a method that needs the graph in memory, or is unknown · those of the
///           stream
StreamCut cut_stream(EdgeStream& edges, int parts, const PartitionOptions& options);

/// Cuts what a stream of vertices with their neighbours holds, in memory O(vertices).
///
/// Errors    ConfigError: a method that takes no such stream
StreamCut cut_vertices(VertexStream& vertices, int parts, const PartitionOptions& options);

/// Whether a method gives edges to parts, so that these are fragments of the graph.
bool assigns_edges(const std::string& method);

/// Cuts a graph in memory by a method that assigns edges, and keeps what it gives each part
/// (Partition::fragments). Of an edge of a symmetric graph the stream holds both directions, which
/// are assigned one by one; a part has both where it was given either, as it has the one that there
/// is of a directed graph. So a vertex is in the fragments of exactly the parts that hold it
/// (StreamCut::replicas), and its owner is one of these, drawn. A loop is where its vertex is owned.
///
/// Cost      beside the cut, 8 bytes per edge and part that has it
/// Source    CATGNN 2.3 (training on the parts of an edge partitioner as they are) and 3.2 ("if a
///           training node has multiple replicas, we randomly select one of them as the target
///           training node")
/// Errors    as partition_graph; ConfigError: the method assigns vertices
Partition cut_into_fragments(const Csr& graph, int parts, const PartitionOptions& options);

/// Cuts a graph in memory by any method. Streaming ones see it symmetrised, its rows in order,
/// every edge in both directions (CATGNN, footnote 4).
///
/// Errors    as partition_graph
StreamCut cut_graph(const Csr& graph, int parts, const PartitionOptions& options,
                    std::span<const Split> split = {});

}  // namespace orrery
