// Plain loops: the oracle that every other backend is compared with.
#pragma once

#include <memory>

#include "core/runtime/execute/kernels.hpp"

namespace orrery {

/// Serial loops written as the op's definition reads; sums in double.
std::unique_ptr<Kernels> make_reference_kernels();

}  // namespace orrery
