// Fast kernels for CPUs: vectorised, threaded, oneDNN (or OpenBLAS) for dense products.
#pragma once

#include <memory>

#include "core/runtime/execute/kernels.hpp"

namespace orrery {

/// Kernels for this machine; the instruction set (baseline, AVX2, AVX-512) is chosen at program
/// start.
std::unique_ptr<Kernels> make_cpu_kernels();

/// "cpu (avx512, oneDNN)": what make_cpu_kernels() chose here.
std::string cpu_kernels_description();

}  // namespace orrery
