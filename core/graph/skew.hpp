// How unequal the rows of a pattern are: what keeps the threads of a product waiting for one.
#pragma once

#include "core/graph/csr.hpp"

namespace orrery {

/// The largest row divided by the mean one; 1 without entries.
float row_skew(const Csr& a);

}  // namespace orrery
