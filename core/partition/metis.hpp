// Offline partitioning with METIS, where the build has it.
#pragma once

#include "core/partition/partition.hpp"

namespace orrery {

/// K-way partition of the symmetrised graph without self-loops, vertices weighted 1 + degree, with
/// the least edge cut or (options.volume) the least communication volume. On two levels
/// (options.servers > 1) the graph is cut into servers first and what each of them holds into
/// parts / servers, so that what crosses servers is little: part p is on server p·servers / parts.
///
/// Requires  options.servers divides parts
/// Errors    NotBuilt without libmetis · Error when METIS fails or the graph exceeds its 32-bit
/// indices
/// Source    two levels: DistDGLv2 4.1.2
Partition metis_partition(const Csr& graph, int parts, const PartitionOptions& options);

}  // namespace orrery
