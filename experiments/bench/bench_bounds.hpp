// The bounds that memory sets, measured beside the kernels: rates of kernels are compared with
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// a ← b + 3·c, written past the caches (STREAM triad). Three arrays of one size, 64-byte aligned.
void stream_triad(std::int64_t n, float* a, const float* b, const float* c);

/// Reads row columns[e] of x for every edge e and adds it up in registers: only what a sparse-dense
/// product of this pattern cannot avoid. The sum is returned so that the compiler keeps it.
///
/// Requires  width is 16, 64, 128 or 256
float gather_rows_only(const std::vector<Vertex>& columns, const float* x, std::int64_t width);

}  // namespace orrery
