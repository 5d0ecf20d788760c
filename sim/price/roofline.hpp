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
/// says: the super-linear speed-ups of MG-GCN, figure 9. A row of x comes in whole sectors of 32
/// bytes, of which a row whose width is no multiple of 8 fills its first and last in part: n + 32 −
/// gcd(n, 32) bytes on average.
///
/// Source    sectors: CUDA C++ Best Practices Guide, coalesced access to global memory
/// Departs   a cache of perfect associativity that holds nothing but x
GatherTraffic gather_traffic(const SpMM& op, double cache_bytes);
/// The same of rows of z; rows of x are read, and dots written, once.
GatherTraffic gather_traffic(const Sddmm& op, double cache_bytes);

/// launch + max(flops, bytes) at the stated efficiency, where the bytes of a sparse product are
/// those of gather_traffic(), each at the rate of where they are found; and, where the number of
/// multiprocessors is known, what a sparse product waits for its longest row.
///
/// The longest row has skew · nnz / rows entries. One multiprocessor sums it, with its part of the
/// cache's rate: p seconds. Rows are handed out in order to whoever is free, and the longest may be
/// any: it begins at any moment of the T seconds of the others alike, so that the product takes
/// max(T, its beginning + p), on average T + p²/2T for p <= T and p + T/2 beyond. A sampled
/// dense-dense product, whose entries have nothing in common, waits for no row.
///
/// Departs   products that cut long rows (cuSPARSE's by entries) wait less; one row is the longest,
///           the next are like all others
double roofline_seconds(const Op& op, const Roofline& roofline,
                        const Roofline::Efficiency& efficiency);

}  // namespace orrery::sim
