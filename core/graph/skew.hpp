// How unequal the rows of a pattern are: a long row makes the threads of a product wait.
#pragma once

#include "core/graph/csr.hpp"

namespace orrery {

/// The largest row divided by the mean row; 1 without entries.
float row_skew(const Csr& a);

}  // namespace orrery
