// Fast kernels for CPUs: vectorised, threaded, oneDNN (or OpenBLAS) for dense products.
#pragma once

#include <memory>

#include "core/runtime/execute/kernels.hpp"

namespace orrery {

/// Kernels for this machine; the instruction set (baseline, AVX2, AVX-512) is chosen at program
/// start.
///
/// Errors    Error: a limit on the address space leaves oneDNN no room for its code. It is known with
///           the first call, so make that before other threads take memory.
std::unique_ptr<Kernels> make_cpu_kernels();

/// "cpu (avx512, oneDNN)": what make_cpu_kernels() chose here.
std::string cpu_kernels_description();

}  // namespace orrery
