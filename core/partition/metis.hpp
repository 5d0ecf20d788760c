// Offline partitioning with METIS, where the build has it.
#pragma once

#include <cstdint>

#include "core/partition/partition.hpp"

namespace orrery {

/// K-way partition of the symmetrised graph without self-loops, minimum edge cut, vertices weighted
/// 1 + degree.
///
/// Errors    NotBuilt without libmetis · Error when METIS fails or the graph exceeds its 32-bit
/// indices
Partition metis_partition(const Csr& graph, int parts, std::uint64_t seed);

}  // namespace orrery
