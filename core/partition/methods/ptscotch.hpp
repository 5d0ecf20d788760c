// Partitioning by several processes, each with a block of the vertices, with PT-Scotch.
#pragma once

#include <span>
#include <string>

#include "core/graph/dataset.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// K-way partition of the symmetrised graph without self-loops that aims at the least edge cut, by
/// options.ptscotch.processes processes, at most one a vertex. It is balanced in the one constraint
/// of options.metis.constraints: no part should have more than options.ptscotch.balance times the
/// mean. The result depends on the seed and on the number of processes, and on nothing else.
///
/// mpirun starts the processes on this machine. The graph goes to them through a file among the
/// temporary files. They end with this process, and their mpirun knows nothing of a job that this
/// process is itself a rank of.
///
/// Requires  `split` of every vertex, or empty
/// Cost      a file of 12 bytes a vertex and 4 an adjacency entry, besides the processes' memory
/// Errors    NotBuilt (no PT-Scotch in this build or beside this program, as
///           in Python; no mpirun) · ConfigError (several constraints) ·
///           Error with what a process says if it fails, as it does if the graph exceeds the
///           library's indices · those of vertex_weights and of TemporaryFolder
/// Source    SCOTCH_dgraphPart of PT-Scotch 7.0 (Chevalier and Pellegrini, PT-Scotch, 2008)
/// Departs   PT-Scotch aims at the tolerance without a guarantee: the best balanced result of up to
///           four seeds is taken
Partition ptscotch_partition(const Csr& graph, int parts, const PartitionOptions& options,
                             std::span<const Split> split = {});

/// Version of the library that the processes are built with, "7.0.3"; "none" if they are not built.
std::string ptscotch_version();

}  // namespace orrery
