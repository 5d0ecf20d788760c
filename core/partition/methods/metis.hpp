// Offline partitioning with METIS, where the build has it.
#pragma once

#include <span>

#include "core/graph/dataset.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// K-way partition of the symmetrised graph without self-loops, with the least edge cut or
/// (options.metis.volume) the least communication volume, balanced in every one of
/// options.metis.constraints: no part is to have more than options.metis.balance times the mean. On
/// two levels (options.metis.servers > 1) the graph is cut into servers first and what each of them
/// holds into parts / servers, so that what crosses servers is little: part p is on server
/// p·servers / parts. Each level gets the square root of the tolerance, so that both keep to it.
///
/// One call at a time cuts; others of the process wait.
///
/// Requires  options.metis.servers divides parts; `split` of every vertex, or empty
/// Errors    NotBuilt without libmetis · Error when METIS fails or the graph exceeds its 32-bit
///           indices · ConfigError of vertex_weights
/// Source    constraints, two levels: DistDGLv2 4.1, 4.1.2
/// Departs   METIS aims at the tolerance and promises nothing: with several constraints the best
///           balanced of up to kTries seeds is taken
Partition metis_partition(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split = {});

}  // namespace orrery
