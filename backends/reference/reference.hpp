// Plain loops: the oracle for every other backend.
#pragma once

#include <memory>

#include "core/runtime/execute/kernels.hpp"

namespace orrery {

/// Serial loops in the form of the op's definition; sums in double.
std::unique_ptr<Kernels> make_reference_kernels();

}  // namespace orrery
