// The price of an operation on a device of which only peak figures are known.
#pragma once

#include "core/ops/ops.hpp"
#include "sim/price/profile.hpp"

namespace orrery::sim {

/// How a sparse product moves bytes on a device with a cache.
struct GatherTraffic {
  double memory_bytes = 0;  ///< between memory and cache
  double cache_bytes = 0;   ///< of rows of x that were found in the cache
};

/// Every edge reads a row of x, a column number and, if there are values, those of its heads; every row reads
/// its offset and writes (with beta also reads) its row of y. Of the rows of x a share of
/// min(1, cache / reuse) is found in the cache, where `reuse` are the bytes of x that are read
/// between two uses of the same row (Sparse::reuse); but each row that is used at all comes from
/// memory once. Tiles of x that fit into the cache make a product faster than its number of edges
/// says: the super-linear speed-ups of MG-GCN, figure 9.
///
/// Departs   a cache of perfect associativity that holds nothing but x
GatherTraffic gather_traffic(const SpMM& op, double cache_bytes);

/// launch + max(flops, bytes) at the stated efficiency, where the bytes of a sparse product are
/// those of gather_traffic(), each at the rate of where they are found.
double roofline_seconds(const Op& op, const Roofline& roofline,
                        const Roofline::Efficiency& efficiency);

}  // namespace orrery::sim
