// Offline partitioning with METIS, where the build has it.
#pragma once

#include <span>
#include <string>

#include "core/graph/dataset.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// K-way partition of the symmetrised graph without self-loops, with the least edge cut or
/// (options.metis.volume) the least communication volume. It is balanced in every one of
/// options.metis.constraints: no part should have more than options.metis.balance times the mean.
/// On two levels (options.metis.servers > 1) the graph is first cut into servers, and then each
/// server's share into parts / servers, so that little crosses servers. Part p is on server
/// p·servers / parts. Each level gets the square root of the tolerance, so that together they keep
/// it.
///
/// One call at a time cuts; other calls of the process wait.
///
/// Requires  options.metis.servers divides parts; `split` of every vertex, or empty
/// Errors    NotBuilt without libmetis · Error if METIS fails or the graph exceeds its 32-bit
///           indices · those of vertex_weights
/// Source    constraints, two levels: DistDGLv2 4.1, 4.1.2
/// Departs   METIS aims at the tolerance without a guarantee: with several constraints the best
///           balanced result of up to kTries seeds is taken
Partition metis_partition(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split = {});

/// Version of the library that this is built with, "5.1.0"; "none" without libmetis.
std::string metis_version();

}  // namespace orrery
