// How far apart a product uses the same row of its dense operand. This decides whether a cache
// helps.
#pragma once

#include "core/graph/csr.hpp"

namespace orrery {

/// Typical number of edges between two uses of the same column, as a share of the columns: 1 for
/// random columns, less if popular columns or neighbouring rows repeat them.
///
/// Rule      exp(mean over edges of ln(gap) + 0.5772) / columns, at most 1, where the gap is the
///           number of edges since the column's last use and counts as columns · exp(−0.5772) at
///           its first. Gaps of random columns are geometric with mean `columns`, and the mean of
///           the logarithm of such a number is ln(columns) − 0.5772 (Euler's constant). Columns may
///           have larger names than their number (before a Relabel); in large patterns others of them
///           are followed then.
/// Cost      O(edges); in large patterns a random sample of columns is followed
double column_reuse(const Csr& a);

}  // namespace orrery
